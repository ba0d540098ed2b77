//! Connections: one pool for all clients, and another in its place as soon as a call finds that it leads nowhere.
//!
//! What kills one idle connection without a word (a firewall that forgot them, a node that failed over) has killed its neighbours
//! too. The HTTP client drops the one that a call was given up on and hands the next call the next dead one; with 40 of them a
//! request has spent its time before a new one is opened. So whoever was not answered for seconds takes the whole pool out of
//! use: calls under way finish on it, those after it open connections of their own.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use aws_smithy_runtime_api::client::connector_metadata::ConnectorMetadata;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;

/// A call that was given up after this long without an answer speaks against its pool. AWS answers in milliseconds; that a caller
/// was gone before says nothing.
const SILENCE: Duration = Duration::from_secs(2);

/// A pool that took another's place stays for as long: where one queue alone does not answer, its calls must not cost everybody
/// else their connections again and again.
const LEAST_TIME: Duration = Duration::from_secs(30);

/// An HTTP client whose connections are replaced together. Clones share them.
#[derive(Debug, Clone)]
pub(super) struct Pool(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    make: fn() -> SharedHttpClient,
    current: RwLock<Current>,
}

#[derive(Debug)]
struct Current {
    client: Arc<SharedHttpClient>,
    /// When it took another's place, if it did.
    since: Option<Instant>,
}

impl Pool {
    /// Of clients that `make` makes, each with connections of its own.
    pub(super) fn new(make: fn() -> SharedHttpClient) -> Self {
        let current = Current { client: Arc::new(make()), since: None };
        Self(Arc::new(Inner { make, current: RwLock::new(current) }))
    }

    fn current(&self) -> Arc<SharedHttpClient> {
        self.0.current.read().unwrap_or_else(PoisonError::into_inner).client.clone()
    }

    /// Takes `silent` out of use. Many calls may find the same at once: the first one does it.
    fn renew(&self, silent: &Arc<SharedHttpClient>) {
        let mut current = self.0.current.write().unwrap_or_else(PoisonError::into_inner);
        let is_old = current.since.is_none_or(|since| since.elapsed() >= LEAST_TIME);
        if is_old && Arc::ptr_eq(&current.client, silent) {
            *current = Current { client: Arc::new((self.0.make)()), since: Some(Instant::now()) };
            drop(current);
            tracing::info!("a call to AWS got no answer; those after it go out on new connections");
        }
    }
}

impl HttpClient for Pool {
    fn http_connector(&self, settings: &HttpConnectorSettings, components: &RuntimeComponents) -> SharedHttpConnector {
        let client = self.current();
        let connector = client.http_connector(settings, components);
        SharedHttpConnector::new(Watched { connector, pool: self.clone(), client })
    }

    fn connector_metadata(&self) -> Option<ConnectorMetadata> {
        self.current().connector_metadata()
    }
}

#[derive(Debug)]
struct Watched {
    connector: SharedHttpConnector,
    pool: Pool,
    client: Arc<SharedHttpClient>,
}

impl HttpConnector for Watched {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let answer = self.connector.call(request);
        let mut wait =
            Wait { pool: self.pool.clone(), client: self.client.clone(), began: Instant::now(), ended: false };
        HttpConnectorFuture::new(async move {
            let outcome = answer.await;
            wait.answered();
            outcome
        })
    }
}

/// Waiting for an answer. Timeouts are not seen here: the call is dropped.
struct Wait {
    pool: Pool,
    client: Arc<SharedHttpClient>,
    began: Instant,
    ended: bool,
}

impl Wait {
    fn answered(&mut self) {
        self.ended = true;
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        if !self.ended && self.began.elapsed() >= SILENCE {
            self.pool.renew(&self.client);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::future::join_all;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpStream};

    use super::*;
    use crate::aws::Connect;

    /// How many connections were opened, and how many of the first are silent.
    #[derive(Default)]
    struct Counts {
        opened: AtomicUsize,
        silent: AtomicUsize,
    }

    async fn serve(mut stream: TcpStream, number: usize, counts: Arc<Counts>) {
        let mut request = Vec::new();
        while stream.read_buf(&mut request).await.is_ok_and(|read| read > 0) {
            if counts.silent.load(Ordering::Relaxed) > number || !request.ends_with(b"}") {
                continue;
            }
            request.clear();
            // So long that calls made together need a connection each.
            tokio::time::sleep(Duration::from_millis(200)).await;
            let body = r#"{"Parameters":[],"InvalidParameters":["/acme/consumer_sqs"]}"#;
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
            stream.write_all((head + body).as_bytes()).await.unwrap();
        }
    }

    #[tokio::test]
    async fn after_one_call_without_an_answer_the_next_goes_out_on_a_new_connection_though_there_are_many_idle_ones() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let counts = Arc::new(Counts::default());
        let of_server = counts.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let number = of_server.opened.fetch_add(1, Ordering::Relaxed);
                tokio::spawn(serve(stream, number, of_server.clone()));
            }
        });
        let ssm = Connect::with_keys("eu-central-1", &url, "key", "secret").clients().ssm;
        let call = || ssm.get_parameters().names("/acme/consumer_sqs").send();
        assert!(join_all((0..8).map(|_| call())).await.iter().all(Result::is_ok));
        let opened = counts.opened.load(Ordering::Relaxed);
        assert!(opened > 2, "{opened} connections");
        counts.silent.store(opened, Ordering::Relaxed);
        call().await.unwrap_err();
        assert_eq!(counts.opened.load(Ordering::Relaxed), opened);
        call().await.unwrap();
        assert_eq!(counts.opened.load(Ordering::Relaxed), opened + 1);
    }

    #[test]
    fn a_pool_that_took_another_s_place_stays_for_a_while() {
        let pool = Pool::new(crate::aws::new_http_client);
        let first = pool.current();
        pool.renew(&first);
        let second = pool.current();
        assert!(!Arc::ptr_eq(&first, &second));
        pool.renew(&second);
        assert!(
            Arc::ptr_eq(&second, &pool.current()),
            "a queue that stays silent does not cost everybody their connections"
        );
    }
}
