//! Accepting connections and serving them, HTTP/1.1 and HTTP/2, until told to stop.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::response::IntoResponse;
use http::Version;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt;

use crate::config::Common;
use crate::problem::Problem;

use super::pace::{Answering, Paced, Times};
use super::rest::Rest;

/// Connections beyond the limit that are being told so at one time; more are closed without a word.
const TURNED_AWAY: usize = 256;

/// How long telling takes at most.
const TURNING_AWAY: Duration = Duration::from_secs(1);

/// How large a request's head may be, in bytes: what the load balancer takes for one header, and Node's servers for all of them.
/// A connection's buffer grows to this while bodies come in, and as many are held as there are connections.
const HEAD_BYTES: usize = 16 * 1024;

/// Bytes that an HTTP/2 connection takes in ahead of its readers.
const WINDOW: u32 = 64 * 1024;

#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) connections: usize,
    pub(super) times: Times,
}

impl Limits {
    pub(super) fn of(common: &Common) -> Self {
        Self { connections: common.max_connections, times: Times::default() }
    }

    /// For the admin port: a handful of probes and scrapes.
    pub(super) fn admin() -> Self {
        Self { connections: 64, times: Times::default() }
    }
}

/// When to stop.
#[derive(Debug, Clone)]
pub(super) struct Until {
    /// No more connections; idle ones end, requests under way are answered.
    pub(super) closing: CancellationToken,
    /// Everything ends.
    pub(super) closed: CancellationToken,
}

/// Serves until `until.closing`, then until the last connection has ended or `until.closed`.
pub(super) async fn serve(listener: TcpListener, router: Router, limits: Limits, until: Until) {
    let places = Arc::new(Semaphore::new(limits.connections));
    let turning_away = Arc::new(Semaphore::new(TURNED_AWAY));
    let connections = TaskTracker::new();
    let server = Arc::new(builder());
    loop {
        let socket = tokio::select! {
            biased;
            () = until.closing.cancelled() => break,
            accepted = listener.accept() => match accepted {
                Ok((socket, _)) => socket,
                Err(error) => {
                    // Out of descriptors, most likely: it passes when connections end, and must not spin meanwhile.
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
            },
        };
        match places.clone().try_acquire_owned() {
            Ok(place) => {
                let (server, router, until) = (server.clone(), router.clone(), until.clone());
                connections.spawn(async move {
                    one(socket, &server, router, limits.times, until).await;
                    drop(place);
                });
            }
            Err(_) => {
                metrics::counter!("http_shed_total", "because" => "connections").increment(1);
                if let Ok(place) = turning_away.clone().try_acquire_owned() {
                    connections.spawn(async move {
                        let _ = tokio::time::timeout(TURNING_AWAY, turn_away(socket)).await;
                        drop(place);
                    });
                }
            }
        }
    }
    drop(listener);
    connections.close();
    tokio::select! {
        () = connections.wait() => {}
        () = until.closed.cancelled() => {}
    }
}

fn builder() -> auto::Builder<TokioExecutor> {
    let mut server = auto::Builder::new(TokioExecutor::new());
    server.http1().timer(TokioTimer::new()).header_read_timeout(None).max_buf_size(HEAD_BYTES);
    server
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(256)
        // What a peer may send before anybody reads it, as with HTTP/1: memory that MAX_BUFFERED_BYTES does not count.
        .initial_stream_window_size(WINDOW)
        .initial_connection_window_size(WINDOW)
        .max_header_list_size(u32::try_from(HEAD_BYTES).unwrap_or(u32::MAX))
        .keep_alive_interval(Duration::from_secs(20))
        .keep_alive_timeout(Duration::from_secs(10));
    server
}

async fn one(socket: TcpStream, server: &auto::Builder<TokioExecutor>, router: Router, times: Times, until: Until) {
    // Answers are one small write each; to wait for more of them only adds latency.
    let _ = socket.set_nodelay(true);
    let (answering, rest) = (Answering::default(), Rest::default());
    let (counted, left) = (answering.clone(), rest.clone());
    let service = hyper::service::service_fn(move |request: hyper::Request<Incoming>| {
        let guard = counted.one();
        let router = router.clone();
        let rest = (request.version() < Version::HTTP_2).then(|| left.clone());
        async move {
            let Some(rest) = rest else {
                let answer = router.oneshot(request.map(Body::new)).await;
                drop(guard);
                return answer;
            };
            let mut answer = router.oneshot(rest.of(request).map(Body::new)).await;
            if let Ok(answer) = &mut answer {
                rest.settle(answer, times.rest).await;
            }
            drop(guard);
            answer
        }
    });
    let connection = server.serve_connection(TokioIo::new(Paced::new(socket, times, answering, rest)), service);
    tokio::pin!(connection);
    // Peers that vanish or dawdle end their connection with an error; that is theirs to know.
    tokio::select! {
        _ = connection.as_mut() => return,
        () = until.closing.cancelled() => connection.as_mut().graceful_shutdown(),
    }
    tokio::select! {
        _ = connection.as_mut() => {}
        () = until.closed.cancelled() => {}
    }
}

/// Says 503 without reading the request first, then lets the peer finish, so that it gets to read the answer.
async fn turn_away(mut socket: TcpStream) {
    let response = Problem::UNAVAILABLE.into_response();
    let body = Problem::UNAVAILABLE.body().to_string();
    let mut text = format!("HTTP/1.1 {}\r\nconnection: close\r\ncontent-length: {}\r\n", response.status(), body.len());
    for (name, value) in response.headers() {
        if name != http::header::CONTENT_LENGTH {
            text.push_str(&format!("{name}: {}\r\n", value.to_str().unwrap_or_default()));
        }
    }
    text.push_str("\r\n");
    text.push_str(&body);
    if socket.write_all(text.as_bytes()).await.is_err() || socket.shutdown().await.is_err() {
        return;
    }
    let mut sink = [0; 1024];
    while socket.read(&mut sink).await.is_ok_and(|bytes| bytes > 0) {}
}
