//! A small HTTP client for asking our own listeners.

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::TokioExecutor;

fn client() -> Client<HttpConnector, Full<Bytes>> {
    Client::builder(TokioExecutor::new()).build_http()
}

/// The status of a GET; `None` when nothing answers.
pub(crate) async fn get(url: &str) -> Option<StatusCode> {
    let request = Request::get(url).body(Full::default()).ok()?;
    Some(client().request(request).await.ok()?.status())
}

/// The status and body of a POST of JSON with a `TenantID` and more headers; a text when nothing answers.
pub(crate) async fn post(
    url: &str,
    tenant: &str,
    more: &[(&str, &str)],
    body: String,
) -> Result<(StatusCode, Bytes), String> {
    let request = Request::post(url).header("TenantID", tenant).header("Content-Type", "application/json");
    let request = more.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    let request = request.body(Full::from(body)).map_err(|error| error.to_string())?;
    let answer = client().request(request).await.map_err(|error| error.to_string())?;
    let status = answer.status();
    let body = answer.into_body().collect().await.map_err(|error| error.to_string())?;
    Ok((status, body.to_bytes()))
}
