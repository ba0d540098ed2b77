//! Generated cases, run side by side, and the rules that hold for every answer.

use std::fmt::Debug;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::http::Answer;
use crate::scripted::Op;
use crate::service::Kind;

/// Every call that a service makes to SQS, DynamoDB, SSM and for its credentials. Each meets every kind of fault in a generated
/// test; a test holds the list against what the services do.
#[must_use]
pub fn calls_of(kind: Kind) -> &'static [Op] {
    match kind {
        Kind::Producer => &[
            Op::SendMessageBatch,
            Op::GetParameter,
            Op::GetParameters,
            Op::AssumeRoleWithWebIdentity,
            Op::ContainerCredentials,
        ],
        Kind::Consumer => &[
            Op::ReceiveMessage,
            Op::DeleteMessageBatch,
            Op::ChangeMessageVisibilityBatch,
            Op::GetQueueAttributes,
            Op::PutItem,
            Op::BatchWriteItem,
            Op::Query,
            Op::GetParameter,
            Op::GetParameters,
            Op::AssumeRoleWithWebIdentity,
            Op::ContainerCredentials,
        ],
        Kind::Payments => &[
            Op::SendMessageBatch,
            Op::PutItem,
            Op::GetItem,
            Op::GetParameter,
            Op::GetParameters,
            Op::AssumeRoleWithWebIdentity,
            Op::ContainerCredentials,
        ],
    }
}

/// Cases that run at one time, of all tests of a process: most of their time is waiting for timeouts, but each starts a
/// service, and a machine that is too busy runs into timeouts that no script asked for.
static ROOM: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(12)));

/// Runs `test` for every case, several at a time, and fails with the list of those that failed.
pub async fn each<C, F, Fut>(cases: Vec<C>, test: F)
where
    C: Debug + Clone + Send + 'static,
    F: Fn(C) -> Fut,
    Fut: Future<Output = ()> + Send + 'static,
{
    let mut running = JoinSet::new();
    let total = cases.len();
    for case in cases {
        let (work, name) = (test(case.clone()), format!("{case:?}"));
        running.spawn(async move {
            let _place = Arc::clone(&ROOM).acquire_owned().await;
            // A task of its own, so that one case that fails does not hide the others.
            tokio::spawn(work).await.map_err(|error| format!("{name}: {}", reason(error)))
        });
    }
    let mut failed: Vec<String> = running.join_all().await.into_iter().filter_map(Result::err).collect();
    failed.sort();
    assert!(failed.is_empty(), "{} of {total} cases failed:\n\n{}", failed.len(), failed.join("\n\n"));
}

fn reason(error: tokio::task::JoinError) -> String {
    match error.try_into_panic() {
        Ok(panic) => match panic.downcast::<String>() {
            Ok(text) => *text,
            Err(panic) => {
                panic.downcast::<&str>().map_or_else(|_| "a panic without text".into(), |text| text.to_string())
            }
        },
        Err(error) => error.to_string(),
    }
}

/// What holds for every answer that is no success: a problem of RFC 9457 in our own words, and when to come back.
#[track_caller]
pub fn assert_honest(answer: &Answer) {
    let text = answer.text();
    let status = answer.status.as_u16();
    assert_eq!(answer.header("content-type"), "application/problem+json", "{status} {text}");
    let problem = answer.json();
    assert_eq!(problem["status"], status, "{text}");
    assert_eq!(problem["msg"], problem["title"], "{text}");
    for word in ["arn:", "amazonaws", "Exception", "QueueDoesNotExist", "AKIA", "127.0.0.1", "AccessDenied", "sqs"] {
        assert!(!text.contains(word), "AWS's words reach the client: {text}");
    }
    assert_ne!(status, 500, "500 is for bugs of ours: {text}");
    if matches!(status, 429 | 503) {
        let after: u64 = answer.header("retry-after").parse().unwrap_or(0);
        assert!(after >= 1, "no Retry-After on {status}");
    }
}

/// What a busy machine adds to the time that an answer takes. With a limit of 3 s it stays below the 9 s that a call to
/// AWS may take by itself, so that a limit that holds nobody is noticed.
const BUSY: Duration = Duration::from_secs(5);

/// What holds for how long an answer takes: `limit`, and what a busy machine adds.
#[track_caller]
pub fn assert_in_time(answer: &Answer, limit: Duration) {
    assert!(answer.took <= limit + BUSY, "{} after {:?}", answer.status, answer.took);
}
