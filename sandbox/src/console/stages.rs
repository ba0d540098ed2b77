//! An answer that comes in lines, as things happen: a JSON object each, of which `stage` says what happened and `ms` when,
//! counted from the start.

use std::convert::Infallible;

use axum::body::{Body, Bytes};
use axum::response::{IntoResponse, Response};
use http::header::CONTENT_TYPE;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::Instant;

/// Where stages are told.
pub(super) struct Stages {
    began: Instant,
    lines: mpsc::Sender<Bytes>,
}

/// The page is gone, so nobody is told any more.
pub(super) struct Gone;

/// The answer, and the end to write into. It is over when that is dropped.
pub(super) fn open() -> (Stages, Response) {
    let (lines, told) = mpsc::channel(16);
    let told = futures_util::stream::unfold(told, |mut told: mpsc::Receiver<Bytes>| async move {
        Some((Ok::<_, Infallible>(told.recv().await?), told))
    });
    let response = ([(CONTENT_TYPE, "application/x-ndjson")], Body::from_stream(told)).into_response();
    (Stages { began: Instant::now(), lines }, response)
}

impl Stages {
    /// Tells that this stage was reached just now, with what there is to say of it.
    pub(super) async fn tell(&self, stage: &str, mut more: Value) -> Result<(), Gone> {
        let micros = u32::try_from(self.began.elapsed().as_micros()).unwrap_or(u32::MAX);
        more["stage"] = json!(stage);
        more["ms"] = json!(f64::from(micros / 100) / 10.0);
        self.lines.send(Bytes::from(format!("{more}\n"))).await.map_err(|_| Gone)
    }
}
