//! A pool and a tenant of each tier on one of the two AWSs, each service a process of its own.

use std::collections::HashMap;
use std::future::Future;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use aws_sdk_dynamodb::types::AttributeValue;
use sandbox::aws::{EmbeddedAws, Options};
use sandbox::plane::layout::{Layout, Service as Kind};
use sandbox::plane::provision::provision;
use sandbox::plane::roster::Roster;
use tenancy::aws::{Clients, Connect};
use tests::http::{Answer, Http};
use tests::service::{Kind as Binary, Launch, Service};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

pub(crate) const REGION: &str = "eu-west-1";

/// How long something that has to happen may take, on a machine with other things to do.
const PATIENCE: Duration = Duration::from_secs(60);

/// Which AWS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Backend {
    Embedded,
    Moto,
}

impl Backend {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Embedded => "on_embedded_aws",
            Self::Moto => "on_moto",
        }
    }
}

/// Held for as long as the plane lives.
enum Aws {
    Embedded(#[expect(dead_code, reason = "its drop ends it")] EmbeddedAws),
    Moto(#[expect(dead_code, reason = "its drop ends it")] Child),
}

pub(crate) struct Plane {
    pub(crate) backend: Backend,
    pub(crate) clients: Clients,
    pub(crate) endpoint: String,
    layout: Layout,
    services: HashMap<String, Service>,
    http: Http,
    _aws: Aws,
}

impl Plane {
    pub(crate) async fn start(backend: Backend) -> Self {
        let (aws, endpoint) = match backend {
            Backend::Embedded => {
                let aws =
                    EmbeddedAws::start(Options { region: REGION.to_owned(), ..Options::default() }).await.unwrap();
                let url = aws.url();
                (Aws::Embedded(aws), url)
            }
            Backend::Moto => moto().await,
        };
        let clients = Connect::with_keys(REGION, &endpoint, "AKIATEST", "secret").clients();
        let layout = Layout::new(Roster::new(&[]).unwrap(), REGION);
        // The first call of each service loads it, which on a busy machine takes longer than a call may.
        eventually("an answer of SSM", || async { clients.ssm.get_parameters().names("/none").send().await.ok() })
            .await;
        eventually("an answer of SQS", || async { clients.sqs.list_queues().send().await.ok() }).await;
        eventually("an answer of DynamoDB", || async { clients.dynamodb.list_tables().send().await.ok() }).await;
        provision(&layout, &clients).await.unwrap();
        let mut services = HashMap::new();
        for deployment in layout.deployments() {
            let environment = deployment.environment.as_str();
            let launch = launch(deployment.service, &endpoint, environment);
            services.insert(deployment.to_string(), launch.listening().await);
        }
        for service in services.values() {
            service.until_ready().await;
        }
        Self { backend, clients, endpoint, layout, services, http: Http::new(), _aws: aws }
    }

    /// Sends a request to where the load balancer would send it.
    pub(crate) async fn ask(
        &self,
        method: &str,
        tenant: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<bytes::Bytes>,
    ) -> Answer {
        let headers = [&[("tenantID", tenant)], headers].concat();
        self.http.send(method.parse().unwrap(), &format!("{}{path}", self.url(tenant, path)), &headers, body).await
    }

    /// POST of JSON.
    pub(crate) async fn post(
        &self,
        tenant: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<bytes::Bytes>,
    ) -> Answer {
        let headers = [&[("content-type", "application/json")], headers].concat();
        self.ask("POST", tenant, path, &headers, body).await
    }

    /// Sends a request to one deployment, such as `pool-1/producer`, as it is.
    pub(crate) async fn ask_at(&self, deployment: &str, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
        let url = format!("{}{path}", self.services[deployment].url);
        self.http.send(method.parse().unwrap(), &url, headers, "").await
    }

    fn url(&self, tenant: &str, path: &str) -> &str {
        let kind = Kind::ALL.into_iter().find(|kind| path[1..].starts_with(kind.name())).unwrap();
        let deployment = self.layout.deployment_for(&tenant.parse().unwrap(), kind);
        &self.services[&deployment.to_string()].url
    }

    pub(crate) fn table(&self, tenant: &str) -> String {
        self.layout.resources_of(&tenant.parse().unwrap()).table()
    }

    pub(crate) fn queue_url(&self, queue: &str) -> String {
        format!("{}/123456789012/{queue}", self.endpoint)
    }

    pub(crate) fn queue(&self, tenant: &str) -> String {
        self.queue_url(&self.layout.resources_of(&tenant.parse().unwrap()).queue())
    }

    /// The record of a message, if it is there.
    pub(crate) async fn look_up(&self, tenant: &str, message_id: &str) -> Option<HashMap<String, AttributeValue>> {
        let key = |text: &str| AttributeValue::S(text.to_owned());
        let get = self.clients.dynamodb.get_item().table_name(self.table(tenant)).consistent_read(true);
        let get = get.key("tenant_id", key(tenant)).key("message_id", key(message_id));
        get.send().await.unwrap().item
    }

    /// The record of a message, as soon as it is there, its attributes as text.
    pub(crate) async fn record(&self, tenant: &str, message_id: &str) -> HashMap<String, String> {
        let item = eventually(&format!("the record {tenant}/{message_id}"), || self.look_up(tenant, message_id)).await;
        item.into_iter().map(|(name, value)| (name, value.as_s().expect("a string").clone())).collect()
    }

    /// What every process printed, for a run that failed.
    pub(crate) fn tell_stories(&self) {
        for (name, service) in &self.services {
            eprintln!("--- {} {name}\n{}", self.backend.name(), service.process.story());
        }
    }
}

/// A deployment as a cluster would start it, but for a shorter stop.
pub(crate) fn launch(kind: Kind, endpoint: &str, environment: &str) -> Launch {
    let binary = match kind {
        Kind::Producer => Binary::Producer,
        Kind::Consumer => Binary::Consumer,
        Kind::Payments => Binary::Payments,
    };
    Launch::at(binary, endpoint, REGION, environment).set("RECORD_READS", "on")
}

/// Waits until `look` finds something.
pub(crate) async fn eventually<T, F>(what: &str, look: impl Fn() -> F) -> T
where
    F: Future<Output = Option<T>>,
{
    let start = Instant::now();
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(start.elapsed() < PATIENCE, "{what} is not there after {PATIENCE:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Starts moto from the environment that `tools/venv` makes (or makes it now).
async fn moto() -> (Aws, String) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let made = Command::new(root.join("tools/venv")).arg("contract").output().await.expect("tools/venv runs");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let venv = String::from_utf8(made.stdout).unwrap();
    let mut child = Command::new(Path::new(venv.trim()).join("bin/python"))
        .arg(root.join("tests/contract/serve_moto.py"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let port = tokio::time::timeout(PATIENCE, lines.next_line()).await.expect("moto starts").unwrap();
    let endpoint = format!("http://127.0.0.1:{}", port.expect("moto prints its port"));
    (Aws::Moto(child), endpoint)
}
