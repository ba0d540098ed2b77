//! An AWS whose script is the test's: SQS, DynamoDB, SSM, STS and the credentials endpoint of a container, over HTTP on
//! loopback, in memory, each operation in constant time.
//!
//! Emulators never misbehave; AWS does. Here a test says which call meets which fault
//! (`aws.on(Op::SendMessageBatch).nth(2).fail(Fault::Throttled)`), and every request is logged and held against
//! AWS's own limits: one that AWS would refuse is refused in AWS's words, and fails the test at its end.
//!
//! | file | idea |
//! |---|---|
//! | [`op`] | the operations |
//! | [`fault`], `kinds`, [`script`] | what goes wrong, every kind of it, and when |
//! | `server`, `dispatch`, `wire`, `answer` | connections, one request, how answers look and go out |
//! | `sqs`, `dynamodb`, `ssm`, `identity` | the services |
//! | [`log`], `inspect`, `wait` | the requests as they came, what was wrong with them, what a test sees and waits for |

mod answer;
mod builder;
mod dispatch;
mod dynamodb;
pub mod fault;
mod identity;
mod inspect;
mod kinds;
pub mod log;
pub mod op;
mod pace;
pub mod script;
mod server;
mod shared;
mod sqs;
mod ssm;
mod text;
mod wait;
mod wire;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub use builder::Builder;
pub use dynamodb::{Row, TableSpec};
pub use fault::{Cut, Fault, Which};
pub use log::{Call, Outcome, Violation};
pub use op::{Op, Service};
pub use script::{Asked, Chaos, On, Scripted};
use server::Server;
use shared::{Shared, lock};
pub use sqs::{QueueSpec, QueueView, SeenMessage};

/// A running AWS. It ends when it is dropped, and fails the test then if a request broke one of AWS's limits.
pub struct Aws {
    shared: Arc<Shared>,
    server: tokio::sync::Mutex<Server>,
    unchecked: AtomicBool,
}

impl Aws {
    /// One with the defaults: region `eu-central-1`, account 123456789012, nothing in it.
    #[must_use]
    pub fn start() -> Self {
        Self::builder().start()
    }

    /// The defaults, to be changed.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// `http://127.0.0.1:PORT`, the endpoint of every service.
    #[must_use]
    pub fn endpoint(&self) -> &str {
        &self.shared.endpoint
    }

    /// Where the credentials of a container are (`AWS_CONTAINER_CREDENTIALS_FULL_URI`).
    #[must_use]
    pub fn container_credentials_uri(&self) -> String {
        format!("{}/v1/credentials", self.shared.endpoint)
    }

    /// The region of its ARNs.
    #[must_use]
    pub fn region(&self) -> &str {
        &self.shared.region
    }

    // What there is.

    /// A queue with the defaults of [`QueueSpec::named`]; its ARN.
    pub fn create_queue(&self, spec: QueueSpec) -> String {
        let arn = self.queue_arn(&spec.name);
        lock(&self.shared.sqs).create(spec);
        arn
    }

    /// Deletes a queue with all that is in it.
    pub fn delete_queue(&self, name: &str) {
        lock(&self.shared.sqs).delete(name);
        self.shared.changed();
    }

    /// Lets SQS take batches of at most so many bytes (1 MiB unless set; 262,144 before August 2025).
    pub fn max_batch_bytes(&self, bytes: usize) {
        lock(&self.shared.sqs).max_batch_bytes = Some(bytes);
    }

    /// A table; its ARN.
    pub fn create_table(&self, spec: TableSpec) -> String {
        let arn = self.shared.arn("dynamodb", &format!("table/{}", spec.name()));
        lock(&self.shared.dynamodb).create(spec);
        arn
    }

    /// Deletes a table with all that is in it.
    pub fn delete_table(&self, name: &str) {
        lock(&self.shared.dynamodb).delete(name);
        self.shared.changed();
    }

    /// Sets a parameter.
    pub fn set_parameter(&self, name: &str, value: &str) {
        lock(&self.shared.ssm).set(name, value);
    }

    /// Deletes a parameter.
    pub fn delete_parameter(&self, name: &str) {
        lock(&self.shared.ssm).delete(name);
    }

    /// The ARN that a queue of this name has.
    #[must_use]
    pub fn queue_arn(&self, name: &str) -> String {
        self.shared.arn("sqs", name)
    }

    /// The URL that a queue of this name has.
    #[must_use]
    pub fn queue_url(&self, name: &str) -> String {
        self.shared.queue_url(name)
    }

    /// All that one environment has: the queue `consumer-ENV` that gives up after three receives on
    /// `consumer-ENV-dlq`, the table `consumer-ENV`, and the parameters that name them.
    pub fn provision(&self, environment: &str) {
        let name = format!("consumer-{environment}");
        let dead = format!("{name}-dlq");
        self.create_queue(QueueSpec::named(&dead));
        let queue = self.create_queue(QueueSpec::named(&name).redrive(dead, 3));
        let table = self.create_table(TableSpec::named(&name));
        self.set_parameter(&format!("/{environment}/consumer_sqs"), &queue);
        self.set_parameter(&format!("/{environment}/consumer_ddb"), &table);
    }

    /// Registers a basic tenant: its queue is the pool's.
    pub fn register(&self, tenant: &str, pool: &str) {
        self.set_parameter(&format!("/{tenant}/consumer_sqs"), &self.queue_arn(&format!("consumer-{pool}")));
    }

    /// Puts a message with text attributes into a queue, past every limit, as an older producer or a stranger would.
    pub fn put_message(&self, queue: &str, body: &str, attributes: &[(&str, &str)]) {
        let text = |value: &&str| serde_json::json!({"DataType": "String", "StringValue": value});
        let json: serde_json::Map<_, _> =
            attributes.iter().map(|(name, value)| ((*name).to_owned(), text(value))).collect();
        self.put_raw_message(queue, body, &serde_json::Value::Object(json).to_string());
    }

    /// The same with attributes of any type, as JSON (`{"name":{"DataType":…}}`).
    pub fn put_raw_message(&self, queue: &str, body: &str, attributes: &str) {
        sqs::inject(&self.shared, queue, body, attributes);
    }

    // What goes wrong.

    /// Starts a rule about an operation: `aws.on(Op::PutItem).times(3).fail(Fault::Throttled)`.
    pub fn on(&self, op: Op) -> On<'_> {
        On::new(&self.shared, vec![op])
    }

    /// Starts a rule about each operation of a service.
    pub fn on_service(&self, service: Service) -> On<'_> {
        On::service(&self.shared, service)
    }

    /// Faults at random from now on; `None` ends them.
    pub fn chaos(&self, chaos: Option<Chaos>) {
        lock(&self.shared.script).set_chaos(chaos);
    }

    /// Ends every rule, pace and chance.
    pub fn behave(&self) {
        lock(&self.shared.script).clear();
    }

    /// Each call of the service takes this much longer.
    pub fn latency(&self, service: Service, latency: Duration) {
        self.shared.set_latency(service, latency);
    }

    /// Throttles calls of the service beyond so many a second (a bucket that holds a second's worth).
    pub fn throttle_above(&self, service: Service, per_second: u32) {
        lock(&self.shared.script).set_pace(service, per_second);
    }

    /// Ends all connections that are open; new ones are fine.
    pub fn cut_connections(&self, cut: Cut) {
        for connection in lock(&self.shared.connections).values() {
            connection.end(cut);
        }
    }

    /// Connections that are open now get no answer any more, and no FIN either; new ones are fine.
    pub fn silence_connections(&self) {
        for connection in lock(&self.shared.connections).values() {
            connection.silent.store(true, Ordering::SeqCst);
        }
    }

    /// Refuses connections and ends those that are open; returns when none is left.
    pub async fn go_down(&self) {
        self.server.lock().await.refuse(true).await;
        self.cut_connections(Cut::Reset);
        self.wait_until("the end of all connections", |aws| aws.open_connections() == 0).await;
    }

    /// Takes connections again, on the same port.
    pub async fn come_back(&self) {
        self.server.lock().await.refuse(false).await;
    }

    /// How long sessions from STS and the container endpoint last. Default one hour. Calls under an older one are refused.
    pub fn session_length(&self, length: Duration) {
        lock(&self.shared.identity).session = length;
    }

    /// STS takes these web identity tokens only.
    pub fn web_identity_tokens(&self, tokens: &[&str]) {
        lock(&self.shared.identity).web_tokens = Some(tokens.iter().map(|token| (*token).to_owned()).collect());
    }

    /// The container endpoint wants this token.
    pub fn container_token(&self, token: &str) {
        lock(&self.shared.identity).container_token = Some(token.to_owned());
    }

    /// Calls under access keys that were not given out here are refused.
    pub fn only_sessions(&self) {
        lock(&self.shared.identity).only_sessions = true;
    }
}

impl Drop for Aws {
    fn drop(&mut self) {
        if !std::thread::panicking() && !self.unchecked.load(Ordering::SeqCst) {
            self.assert_clean();
        }
    }
}
