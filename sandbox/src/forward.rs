//! Passing a request on to another listener of this process, and its answer back, both as streams.

use std::net::SocketAddr;

use axum::body::Body;
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use http::HeaderMap;
use http::header::{CONNECTION, HeaderName, TRANSFER_ENCODING, UPGRADE};
use http::uri::{Authority, Scheme, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

/// Headers that concern one connection only and are not passed on.
const HOP_BY_HOP: [HeaderName; 6] = [
    CONNECTION,
    TRANSFER_ENCODING,
    UPGRADE,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    HeaderName::from_static("te"),
];

/// A pool of connections to pass requests on with.
#[derive(Debug, Clone)]
pub(crate) struct Forward {
    client: Client<HttpConnector, Body>,
}

impl Forward {
    pub(crate) fn new() -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        Self { client: Client::builder(TokioExecutor::new()).build(connector) }
    }

    /// Sends `request` to `to`, with every header it came with but those of the connection. 502 when nothing answers there.
    pub(crate) async fn send(&self, to: SocketAddr, mut request: Request) -> Response {
        let mut parts = std::mem::take(request.uri_mut()).into_parts();
        parts.scheme = Some(Scheme::HTTP);
        parts.authority = Authority::try_from(to.to_string()).ok();
        let Ok(uri) = Uri::from_parts(parts) else {
            return (http::StatusCode::BAD_REQUEST, "the request's path cannot be passed on\n").into_response();
        };
        *request.uri_mut() = uri;
        *request.version_mut() = http::Version::HTTP_11;
        end_to_end(request.headers_mut());
        match self.client.request(request).await {
            Ok(answer) => {
                let mut answer = answer.map(Body::new);
                end_to_end(answer.headers_mut());
                answer
            }
            Err(error) => {
                tracing::warn!(%to, error = &error as &dyn std::error::Error, "nothing answers");
                (http::StatusCode::BAD_GATEWAY, "502 Bad Gateway\n").into_response()
            }
        }
    }
}

/// Leaves only headers that are meant for the other end: without those of the connection and those that `Connection` names.
fn end_to_end(headers: &mut HeaderMap) {
    let named =
        headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok()).flat_map(|names| names.split(','));
    let named: Vec<HeaderName> = named.filter_map(|name| name.trim().parse().ok()).collect();
    named.iter().chain(&HOP_BY_HOP).for_each(|name| drop(headers.remove(name)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_the_connection_stay_behind() {
        let pairs = [("connection", "keep-alive, x-hop"), ("x-hop", "1"), ("te", "trailers"), ("tenantid", "acme")];
        let mut headers: HeaderMap =
            pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect();
        end_to_end(&mut headers);
        assert_eq!(headers.keys().collect::<Vec<_>>(), ["tenantid"]);
    }
}
