mod calls;
mod fair;
mod properties;
mod reading;
mod rolling;
mod shedding;
mod slow;
mod soak;
mod stopping;

use std::collections::BTreeMap;
use std::time::Duration;

use tests::http::Http;
use tests::scripted::Aws;
use tests::service::{Kind, Launch};

pub(crate) const QUEUE: &str = "consumer-acme";
pub(crate) const DEAD: &str = "consumer-acme-dlq";
pub(crate) const TABLE: &str = "consumer-acme";

/// An AWS with the tenant `acme`.
pub(crate) fn acme() -> Aws {
    let aws = Aws::start();
    aws.provision("acme");
    aws
}

/// A service of `acme`; a consumer has short polls, so that it stops soon.
pub(crate) fn launch(kind: Kind, aws: &Aws) -> Launch {
    let launch = Launch::new(kind, aws, "acme");
    if kind == Kind::Consumer { launch.set("SHUTDOWN_TIMEOUT", "5s") } else { launch }
}

/// The bodies of the records by id.
pub(crate) fn stored(aws: &Aws) -> BTreeMap<String, String> {
    aws.rows(TABLE).into_iter().map(|row| (row.sort.clone(), row.get("body").to_owned())).collect()
}

/// A steady client: one event after another until `stop`, each of which has to be taken at the first try. What was taken: bodies
/// by id.
pub(crate) async fn client(
    number: usize,
    url: String,
    pause: Duration,
    stop: tokio_util::sync::CancellationToken,
) -> BTreeMap<String, String> {
    let (http, mut taken) = (Http::new(), BTreeMap::new());
    for n in 0.. {
        if stop.is_cancelled() {
            break;
        }
        let body = format!("{{\"client\":{number},\"n\":{n}}}");
        let answer = http.post(&url, &[("tenantID", "acme")], body.clone()).await;
        assert_eq!(answer.status, 200, "event {n} of client {number}: {}", answer.text());
        let id = answer.json()["message_id"].as_str().expect("a message_id").to_owned();
        taken.insert(id, body);
        tokio::time::sleep(pause).await;
    }
    taken
}
