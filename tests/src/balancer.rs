//! A load balancer as services stand behind: it asks targets whether they are ready and sends requests to those that are.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::http::Http;
use crate::service::Service;

/// How often targets are asked.
pub const PERIOD: Duration = Duration::from_millis(200);

/// So many answers in a row other than 200 put a target out.
const FAILURES: u32 = 2;

/// A running balancer. It ends when it is dropped.
pub struct Balancer {
    /// Where it listens.
    pub address: SocketAddr,
    shared: Arc<Shared>,
    tasks: [JoinHandle<()>; 2],
}

#[derive(Default)]
struct Shared {
    targets: Mutex<Vec<Target>>,
    turn: std::sync::atomic::AtomicUsize,
}

#[derive(Clone)]
struct Target {
    url: String,
    probe: String,
    ready: bool,
    failures: u32,
}

impl Shared {
    fn targets(&self) -> MutexGuard<'_, Vec<Target>> {
        self.targets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next target that is ready.
    fn pick(&self) -> Option<String> {
        let targets = self.targets();
        let ready: Vec<&Target> = targets.iter().filter(|target| target.ready).collect();
        let turn = self.turn.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        ready.get(turn % ready.len().max(1)).map(|target| target.url.clone())
    }

    async fn ask_all(&self, http: &Http) {
        let probes: Vec<String> = self.targets().iter().map(|target| target.probe.clone()).collect();
        for probe in probes {
            let answer = http.try_send(Method::GET, &probe, &[], "").await;
            let good = answer.is_ok_and(|answer| answer.status == 200);
            for target in self.targets().iter_mut().filter(|target| target.probe == probe) {
                target.failures = if good { 0 } else { target.failures + 1 };
                target.ready = good || (target.ready && target.failures < FAILURES);
            }
        }
    }
}

impl Balancer {
    /// One without targets, on a free port of loopback.
    pub async fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port on loopback");
        let address = listener.local_addr().expect("its address");
        let shared = Arc::new(Shared::default());
        let asking = Arc::clone(&shared);
        let ask = tokio::spawn(async move {
            let http = Http::new();
            loop {
                asking.ask_all(&http).await;
                tokio::time::sleep(PERIOD).await;
            }
        });
        let serve = tokio::spawn(serve(listener, Arc::clone(&shared)));
        Self { address, shared, tasks: [ask, serve] }
    }

    /// Adds a target and waits until it gets requests.
    pub async fn add(&self, service: &Service) {
        let probe = format!("{}/readyz", service.admin);
        self.shared.targets().push(Target { url: service.url.clone(), probe, ready: false, failures: 0 });
        while !self.sends_to(service) {
            tokio::time::sleep(PERIOD).await;
        }
    }

    /// Whether a target gets requests.
    #[must_use]
    pub fn sends_to(&self, service: &Service) -> bool {
        self.shared.targets().iter().any(|target| target.url == service.url && target.ready)
    }

    /// Forgets a target, as when its pod is gone.
    pub fn remove(&self, service: &Service) {
        self.shared.targets().retain(|target| target.url != service.url);
    }
}

impl Drop for Balancer {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    let client = Client::builder(TokioExecutor::new()).build(HttpConnector::new());
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let (shared, client) = (Arc::clone(&shared), client.clone());
        let service = service_fn(move |request| forward(Arc::clone(&shared), client.clone(), request));
        // A client that leaves ends its connection; that is its right.
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}

/// Passes a request on. What the target does not answer is a 502, as from a balancer.
async fn forward(
    shared: Arc<Shared>,
    client: Client<HttpConnector, Full<Bytes>>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let refused = |status, text: String| {
        let mut answer = Response::new(Full::new(Bytes::from(text)));
        *answer.status_mut() = status;
        Ok(answer)
    };
    let Some(target) = shared.pick() else { return refused(StatusCode::SERVICE_UNAVAILABLE, "no target".into()) };
    let (mut head, body) = request.into_parts();
    let Ok(body) = body.collect().await else { return refused(StatusCode::BAD_REQUEST, "no body".into()) };
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
    head.uri = format!("{target}{path}").parse::<Uri>().expect("a target's URL and a path");
    head.headers.remove("connection");
    match client.request(Request::from_parts(head, Full::new(body.to_bytes()))).await {
        Ok(answer) => {
            let (mut head, body) = answer.into_parts();
            // Between target and balancer, not between balancer and client.
            head.headers.remove("connection");
            match body.collect().await {
                Ok(body) => Ok(Response::from_parts(head, Full::new(body.to_bytes()))),
                Err(error) => refused(StatusCode::BAD_GATEWAY, format!("{target}: {error:?}")),
            }
        }
        Err(error) => refused(StatusCode::BAD_GATEWAY, format!("{target}: {error:?}")),
    }
}
