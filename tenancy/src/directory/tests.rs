//! The directory against an SSM that is scripted at the HTTP client's seam.

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;

use serde_json::{Value, json};

use super::*;
use crate::testing::{Answer, Scripted};

#[path = "strangers_tests.rs"]
mod strangers;

/// What SSM holds, what it is told to answer instead, and what it was asked.
#[derive(Debug, Clone, Default)]
struct Ssm(Arc<Mutex<Script>>);

#[derive(Debug, Default)]
struct Script {
    parameters: HashMap<String, String>,
    failures: VecDeque<(u16, &'static str)>,
    calls: Vec<Vec<String>>,
    /// Names that the role may not read, and ones that answers leave out.
    denied: Vec<String>,
    left_out: Vec<String>,
    /// Whether the role may not call `GetParameters`.
    denies_together: bool,
    /// How long an answer takes, if longer than usual.
    after: Option<Duration>,
}

impl Ssm {
    fn holding(pairs: &[(&str, &str)]) -> Self {
        let ssm = Self::default();
        for (name, value) in pairs {
            ssm.put(name, value);
        }
        ssm
    }

    fn put(&self, name: &str, value: &str) {
        self.0.lock().unwrap().parameters.insert(name.to_owned(), value.to_owned());
    }

    fn take_away(&self, name: &str) {
        self.0.lock().unwrap().parameters.remove(name);
    }

    fn fail_next(&self, times: usize, status: u16, code: &'static str) {
        self.0.lock().unwrap().failures.extend(std::iter::repeat_n((status, code), times));
    }

    fn calls(&self) -> Vec<Vec<String>> {
        self.0.lock().unwrap().calls.clone()
    }

    fn deny(&self, name: &str) {
        self.0.lock().unwrap().denied.push(name.to_owned());
    }

    fn leave_out(&self, name: &str) {
        self.0.lock().unwrap().left_out.push(name.to_owned());
    }

    fn deny_together(&self, denies: bool) {
        self.0.lock().unwrap().denies_together = denies;
    }

    fn answer_after(&self, after: Option<Duration>) {
        self.0.lock().unwrap().after = after;
    }

    fn answer(&self, operation: &str, body: &Value) -> (u16, Value) {
        let mut script = self.0.lock().unwrap();
        let single = operation == "GetParameter";
        let names: Vec<String> = match single {
            true => vec![body["Name"].as_str().unwrap().to_owned()],
            false => body["Names"].as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()).collect(),
        };
        script.calls.push(names.clone());
        if let Some((status, code)) = script.failures.pop_front() {
            return (status, json!({"__type": code}));
        }
        if names.iter().any(|name| script.denied.contains(name)) || (script.denies_together && !single) {
            return (400, json!({"__type": "AccessDeniedException"}));
        }
        let names: Vec<String> = names.into_iter().filter(|name| !script.left_out.contains(name)).collect();
        if names.is_empty() {
            return (200, json!({}));
        }
        let found = |name: &String| script.parameters.get(name).map(|value| json!({"Name": name, "Value": value}));
        if single {
            return match found(&names[0]) {
                Some(parameter) => (200, json!({"Parameter": parameter})),
                None => (400, json!({"__type": "ParameterNotFound"})),
            };
        }
        let (there, missing): (Vec<_>, Vec<_>) = names.iter().partition(|name| script.parameters.contains_key(*name));
        (
            200,
            json!({"Parameters": there.into_iter().filter_map(found).collect::<Vec<_>>(), "InvalidParameters": missing}),
        )
    }

    fn directory(&self, ttl: Duration) -> Directory {
        let ssm = self.clone();
        let scripted = Scripted::new(move |operation, body| {
            let (status, body) = ssm.answer(operation, &body);
            let answer = Answer::new(status, body);
            let after = ssm.0.lock().unwrap().after.unwrap_or(answer.after);
            Answer { after, ..answer }
        });
        let own = "pool-1".parse().unwrap();
        Directory::new(aws_sdk_ssm::Client::new(&scripted.config()), &Region::new("eu-central-1"), &own, ttl)
    }
}

const TTL: Duration = Duration::from_secs(300);
const POOL_QUEUE: &str = "arn:aws:sqs:eu-central-1:123456789012:consumer-pool-1";
const POOL_TABLE: &str = "arn:aws:dynamodb:eu-central-1:123456789012:table/consumer-pool-1";
const ACME_QUEUE: &str = "arn:aws:sqs:eu-central-1:123456789012:consumer-acme";

fn env(text: &str) -> Environment {
    text.parse().unwrap()
}

#[tokio::test(start_paused = true)]
async fn queue_and_table_are_read_with_one_call_and_then_kept() {
    let ssm = Ssm::holding(&[("/pool-1/consumer_sqs", POOL_QUEUE), ("/pool-1/consumer_ddb", POOL_TABLE)]);
    let directory = ssm.directory(TTL);
    let (queue, table) = directory.resources(&env("pool-1")).await.unwrap();
    assert_eq!((queue.as_str(), table.as_str()), (POOL_QUEUE, POOL_TABLE));
    for _ in 0..1_000 {
        directory.queue(&env("pool-1")).await.unwrap();
    }
    assert_eq!(ssm.calls(), [["/pool-1/consumer_sqs", "/pool-1/consumer_ddb"]]);
}

#[tokio::test(start_paused = true)]
async fn a_thousand_requests_for_a_new_tenant_are_one_flight() {
    let ssm = Ssm::holding(&[("/acme/consumer_sqs", ACME_QUEUE)]);
    let directory = ssm.directory(TTL);
    let acme = env("acme");
    let all = futures_util::future::join_all((0..1_000).map(|_| directory.queue(&acme))).await;
    assert!(all.iter().all(|queue| queue.as_ref().unwrap().as_str() == ACME_QUEUE));
    assert_eq!(ssm.calls().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn after_its_time_a_value_is_read_again_while_the_old_one_serves() {
    let ssm = Ssm::holding(&[("/acme/consumer_sqs", ACME_QUEUE)]);
    let directory = ssm.directory(TTL);
    directory.queue(&env("acme")).await.unwrap();
    let moved = "arn:aws:sqs:eu-central-1:123456789012:consumer-acme-2";
    ssm.put("/acme/consumer_sqs", moved);
    tokio::time::advance(TTL).await;
    assert_eq!(directory.queue(&env("acme")).await.unwrap().as_str(), ACME_QUEUE);
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert_eq!(directory.queue(&env("acme")).await.unwrap().as_str(), moved);
    assert_eq!(ssm.calls().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn while_ssm_fails_a_known_tenant_is_served() {
    let ssm = Ssm::holding(&[("/acme/consumer_sqs", ACME_QUEUE)]);
    let directory = ssm.directory(TTL);
    directory.queue(&env("acme")).await.unwrap();
    ssm.fail_next(3, 400, "ThrottlingException");
    tokio::time::advance(TTL).await;
    for _ in 0..100 {
        assert_eq!(directory.queue(&env("acme")).await.unwrap().as_str(), ACME_QUEUE);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(ssm.calls().len(), 2, "one refresh in that second, not one a request");
}

#[tokio::test(start_paused = true)]
async fn a_parameter_that_is_taken_away_ends_the_service() {
    let ssm = Ssm::holding(&[("/acme/consumer_sqs", ACME_QUEUE)]);
    let directory = ssm.directory(TTL);
    directory.queue(&env("acme")).await.unwrap();
    ssm.take_away("/acme/consumer_sqs");
    tokio::time::advance(TTL).await;
    directory.queue(&env("acme")).await.unwrap();
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert_eq!(directory.queue(&env("acme")).await, Err(LookupError::NotFound));
}

#[tokio::test(start_paused = true)]
async fn an_unknown_tenant_is_remembered_for_seconds_only() {
    let ssm = Ssm::default();
    let directory = ssm.directory(TTL);
    for _ in 0..100 {
        assert_eq!(directory.queue(&env("newcomer")).await, Err(LookupError::NotFound));
    }
    assert_eq!(ssm.calls().len(), 1);
    ssm.put("/newcomer/consumer_sqs", ACME_QUEUE);
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(directory.queue(&env("newcomer")).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn ids_made_up_at_random_cost_two_calls_a_second_and_leave_known_tenants_alone() {
    let ssm = Ssm::holding(&[("/acme/consumer_sqs", ACME_QUEUE)]);
    let directory = ssm.directory(TTL);
    directory.queue(&env("acme")).await.unwrap();
    let mut busy = 0;
    for second in 0..10 {
        let ids: Vec<_> = (0..1_000).map(|n| env(&format!("x{second}-{n}"))).collect();
        let all = futures_util::future::join_all(ids.iter().map(|id| directory.queue(id)));
        let all = tokio::time::timeout(Duration::from_secs(5), all).await.unwrap();
        busy += all.iter().filter(|result| **result == Err(LookupError::Busy)).count();
        assert!(all.iter().all(Result::is_err));
        assert!(directory.queue(&env("acme")).await.is_ok());
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert!(busy > 9_000, "{busy} of 10,000 were turned away");
    // Each round takes between one and three seconds of the paused clock; four calls may come at once at first.
    assert!(ssm.calls().len() <= 4 + 2 * 30, "{} calls", ssm.calls().len());
    assert!(ssm.calls().iter().all(|names| names.len() <= 10));
}

#[tokio::test(start_paused = true)]
async fn a_queue_that_is_gone_is_looked_up_again_at_once_but_not_over_and_over() {
    let ssm = Ssm::holding(&[("/acme/consumer_sqs", ACME_QUEUE)]);
    let directory = ssm.directory(TTL);
    let old = directory.queue(&env("acme")).await.unwrap();
    for _ in 0..100 {
        directory.queue_is_gone(&env("acme"), &old);
        directory.queue(&env("acme")).await.unwrap();
    }
    assert_eq!(ssm.calls().len(), 2);
    ssm.put("/acme/consumer_sqs", "arn:aws:sqs:eu-central-1:123456789012:replaced");
    tokio::time::sleep(Duration::from_secs(6)).await;
    directory.queue_is_gone(&env("acme"), &old);
    let new = directory.queue(&env("acme")).await.unwrap();
    assert_eq!(new.name(), "replaced");
    directory.queue_is_gone(&env("acme"), &old);
    directory.queue(&env("acme")).await.unwrap();
    assert_eq!(ssm.calls().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_value_that_cannot_be_used_is_an_error_of_its_own() {
    for value in ["consumer-acme", "arn:aws:sqs:us-east-1:123456789012:consumer-acme"] {
        let ssm = Ssm::holding(&[("/acme/consumer_sqs", value)]);
        let directory = ssm.directory(TTL);
        for _ in 0..100 {
            assert_eq!(directory.queue(&env("acme")).await, Err(LookupError::Invalid));
        }
        assert_eq!(ssm.calls().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_role_that_may_only_read_single_parameters_is_served() {
    let ssm = Ssm::holding(&[("/acme/consumer_sqs", ACME_QUEUE)]);
    let directory = ssm.directory(TTL);
    ssm.fail_next(1, 400, "AccessDeniedException");
    assert!(directory.queue(&env("acme")).await.is_ok());
    assert_eq!(directory.queue(&env("nobody")).await, Err(LookupError::NotFound));
    assert_eq!(ssm.calls(), [["/acme/consumer_sqs"], ["/acme/consumer_sqs"], ["/nobody/consumer_sqs"]]);
}

#[tokio::test(start_paused = true)]
async fn ids_made_up_at_random_cost_two_calls_a_second_with_such_a_role_too() {
    let ssm = Ssm::holding(&[("/acme/consumer_sqs", ACME_QUEUE)]);
    let directory = ssm.directory(TTL);
    ssm.fail_next(1, 400, "AccessDeniedException");
    directory.queue(&env("acme")).await.unwrap();
    let before = ssm.calls().len();
    for step in 0..200 {
        let ids: Vec<_> = (0..50).map(|n| env(&format!("x{step}-{n}"))).collect();
        let all = futures_util::future::join_all(ids.iter().map(|id| directory.queue(id)));
        // Nobody waits for an answer for as long as this.
        let _ = tokio::time::timeout(Duration::from_millis(50), all).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(directory.queue(&env("acme")).await.is_ok());
    }
    // Between ten and twenty seconds by the paused clock, after four calls at once.
    let calls = ssm.calls().len() - before;
    assert!((10..=4 + 2 * 20).contains(&calls), "{calls} calls");
}

#[tokio::test(start_paused = true)]
async fn an_outage_of_ssm_at_start_is_over_when_it_is_over() {
    let ssm = Ssm::holding(&[("/pool-1/consumer_sqs", POOL_QUEUE)]);
    let directory = ssm.directory(TTL);
    ssm.fail_next(3, 500, "InternalServerError");
    let mut tries = 0;
    while directory.queue(&env("pool-1")).await.is_err() {
        tries += 1;
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert!(tries < 100);
    }
    assert_eq!(ssm.calls().len(), 4);
}

#[path = "tests/ages.rs"]
mod ages;
#[path = "tests/rights.rs"]
mod rights;
