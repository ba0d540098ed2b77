//! The publisher against a scripted SQS, on a paused clock: times are exact.

use std::sync::Mutex;
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};

use super::*;
use crate::message::outgoing::{Body, ContentType};
use crate::testing::{Answer, Scripted};

#[path = "room_tests.rs"]
mod room;

const QUEUE: &str = "arn:aws:sqs:eu-central-1:123456789012:consumer-acme";
const OTHER: &str = "arn:aws:sqs:eu-central-1:123456789012:consumer-globex";

/// The bodies of the entries of each call, with the queue's name.
type Calls = Arc<Mutex<Vec<(String, Vec<String>)>>>;

struct Plane {
    publisher: Publisher,
    calls: Calls,
}

/// `answer` sees the number of the call (from 0), the queue's name and the bodies.
fn plane(answer: impl Fn(usize, &str, &[String]) -> Option<Answer> + Send + Sync + 'static) -> Plane {
    let calls = Calls::default();
    let log = calls.clone();
    let scripted = Scripted::new(move |operation, body| {
        if operation == "GetParameters" {
            let name = body["Names"][0].as_str().unwrap();
            let moved = "arn:aws:sqs:eu-central-1:123456789012:moved";
            let value = if name == "/moving/consumer_sqs" { moved } else { QUEUE };
            return Answer::new(200, json!({"Parameters": [{"Name": name, "Value": value}]}));
        }
        assert_eq!(operation, "SendMessageBatch");
        let queue = body["QueueUrl"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
        let bodies: Vec<String> =
            body["Entries"].as_array().unwrap().iter().map(|e| e["MessageBody"].as_str().unwrap().to_owned()).collect();
        let number = {
            let mut log = log.lock().unwrap();
            log.push((queue.clone(), bodies.clone()));
            log.len() - 1
        };
        answer(number, &queue, &bodies).unwrap_or_else(|| all_sent(bodies.len(), 20))
    });
    let config = scripted.config();
    let clients = Clients {
        sqs: aws_sdk_sqs::Client::new(&config),
        sqs_receive: aws_sdk_sqs::Client::new(&config),
        dynamodb: aws_sdk_dynamodb::Client::new(&config),
        dynamodb_batch: aws_sdk_dynamodb::Client::new(&config),
        ssm: aws_sdk_ssm::Client::new(&config),
        region: aws_types::region::Region::new("eu-central-1"),
        sqs_endpoint: None,
    };
    let environment: Environment = "acme".parse().unwrap();
    let directory = Directory::new(clients.ssm.clone(), &clients.region, &environment, Duration::from_secs(300));
    let limits = Limits {
        message_bytes: 262_144,
        lane_bytes: 8_388_608,
        fair_queues: true,
        metrics_tenants: 100,
        portions: None,
    };
    Plane { publisher: Publisher::new(&clients, directory, environment, limits), calls }
}

fn sent(index: usize) -> Value {
    json!({"Id": index.to_string(), "MessageId": format!("m{index}"), "MD5OfMessageBody": "0"})
}

fn all_sent(count: usize, millis: u64) -> Answer {
    let successful: Vec<Value> = (0..count).map(sent).collect();
    let mut answer = Answer::new(200, json!({"Successful": successful, "Failed": []}));
    answer.after = Duration::from_millis(millis);
    answer
}

fn failed(status: u16, code: &str) -> Option<Answer> {
    Some(Answer::new(status, json!({"__type": code})))
}

fn route(queue: &str, registered_at: &str) -> Route {
    Route {
        tenant: "acme".parse().unwrap(),
        registered_at: registered_at.parse().unwrap(),
        queue: Arc::new(queue.parse().unwrap()),
        pooled: false,
    }
}

fn event(text: &str) -> Outgoing {
    Outgoing {
        tenant: "acme".parse().unwrap(),
        message_id: crate::message::id::unique(),
        body: Body::from_json(text),
        content_type: ContentType::default(),
        traceparent: None,
    }
}

impl Plane {
    async fn send(&self, text: &str) -> Result<(), SendError> {
        self.send_to(QUEUE, text).await
    }

    async fn send_to(&self, queue: &str, text: &str) -> Result<(), SendError> {
        let deadline = Instant::now() + Duration::from_secs(10);
        self.publisher.send(&route(queue, "acme"), event(text), deadline).await
    }

    fn sizes(&self) -> Vec<usize> {
        self.calls.lock().unwrap().iter().map(|(_, bodies)| bodies.len()).collect()
    }
}

#[tokio::test(start_paused = true)]
async fn alone_a_message_goes_out_at_once() {
    let plane = plane(|_, _, _| None);
    let began = Instant::now();
    assert_eq!(plane.send("1").await, Ok(()));
    assert_eq!(began.elapsed(), Duration::from_millis(20));
    assert_eq!(plane.sizes(), [1]);
}

#[tokio::test(start_paused = true)]
async fn while_a_send_is_in_flight_messages_gather_and_tens_leave_at_once() {
    let plane = plane(|_, _, _| None);
    let began = Instant::now();
    let all = join_all((0..64).map(|n| plane.send(if n % 2 == 0 { "0" } else { "1" }))).await;
    assert!(all.iter().all(Result::is_ok));
    assert_eq!(plane.sizes(), [1, 10, 10, 10, 10, 10, 10, 3]);
    assert_eq!(began.elapsed(), Duration::from_millis(40));
}

#[tokio::test(start_paused = true)]
async fn a_stuck_call_holds_up_what_gathered_behind_it_for_a_round_trip_only() {
    let plane = plane(|number, _, bodies| (number == 0).then(|| all_sent(bodies.len(), 3_000)));
    let began = Instant::now();
    let (stuck, behind) = tokio::join!(plane.send("0"), async {
        tokio::task::yield_now().await;
        let outcome = plane.send("1").await;
        (outcome, began.elapsed())
    });
    assert_eq!((stuck, behind.0), (Ok(()), Ok(())));
    assert!(behind.1 <= Duration::from_millis(41), "{:?}", behind.1);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_ends_early_takes_no_other_message_with_it() {
    let plane = plane(|number, _, bodies| (number == 0).then(|| all_sent(bodies.len(), 3_000)));
    let began = Instant::now();
    let nine = async {
        let nine = join_all((1..10).map(|n| plane.send(if n % 2 == 0 { "0" } else { "1" }))).await;
        (nine, began.elapsed())
    };
    // The tenth fills the batch and is sent on its way at once; then its client hangs up.
    let hangs_up = async {
        let mut tenth = Box::pin(plane.send("10"));
        assert!(futures_util::poll!(&mut tenth).is_pending());
    };
    let (stuck, (nine, took), ()) = tokio::join!(plane.send("0"), nine, hangs_up);
    assert_eq!(stuck, Ok(()));
    assert_eq!(nine, vec![Ok(()); 9]);
    assert_eq!(took, Duration::from_millis(20));
    assert_eq!(plane.sizes(), [1, 10]);
}

#[tokio::test(start_paused = true)]
async fn a_send_that_panics_takes_neither_its_lane_nor_others_with_it() {
    let plane = Arc::new(plane(|number, _, _| {
        assert_ne!(number, 0, "the first call");
        None
    }));
    let first = plane.clone();
    assert!(tokio::spawn(async move { first.send("0").await }).await.unwrap_err().is_panic());
    let began = Instant::now();
    let all = join_all((0..12).map(|n| plane.send(if n % 2 == 0 { "0" } else { "1" }))).await;
    assert_eq!(all, vec![Ok(()); 12]);
    // As in a lane where nothing is in flight: the first at once, ten as soon as they are there, the last when a call is back.
    assert_eq!(plane.sizes(), [1, 1, 10, 1]);
    assert_eq!(began.elapsed(), Duration::from_millis(40));
}

#[tokio::test(start_paused = true)]
async fn each_message_gets_its_own_result() {
    let plane = plane(|number, _, bodies| {
        if number == 0 {
            return None;
        }
        let refused = bodies.iter().position(|body| body == "\"bad\"");
        let successful: Vec<Value> = (0..bodies.len()).filter(|at| Some(*at) != refused).map(sent).collect();
        let failed: Vec<Value> = refused
            .iter()
            .map(|at| json!({"Id": at.to_string(), "Code": "InvalidMessageContents", "SenderFault": true}))
            .collect();
        Some(Answer::new(200, json!({"Successful": successful, "Failed": failed})))
    });
    let texts = ["0", "1", "\"bad\"", "3"];
    let all = join_all(texts.iter().map(|text| plane.send(text))).await;
    assert_eq!(all, [Ok(()), Ok(()), Err(SendError::Refused), Ok(())]);
    assert_eq!(plane.sizes(), [1, 3]);
}

#[tokio::test(start_paused = true)]
async fn a_throttled_entry_is_sent_again_within_the_deadline_and_alone() {
    let plane = plane(|number, _, bodies| {
        (number == 1).then(|| {
            let successful: Vec<Value> = (1..bodies.len()).map(sent).collect();
            let failed = json!([{"Id": "0", "Code": "ThrottlingException", "SenderFault": false}]);
            Answer::new(200, json!({"Successful": successful, "Failed": failed}))
        })
    });
    let all = join_all(["0", "1", "2", "3"].iter().map(|text| plane.send(text))).await;
    assert!(all.iter().all(Result::is_ok));
    let calls = plane.calls.lock().unwrap();
    assert_eq!(calls[2].1, ["1"]);
    assert_eq!(calls.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_fails_as_a_whole_is_made_again() {
    for (status, code) in
        [(500, "InternalError"), (503, "ServiceUnavailable"), (400, "ThrottlingException"), (400, "RequestThrottled")]
    {
        let plane = plane(move |number, _, _| if number < 4 { failed(status, code) } else { None });
        assert_eq!(plane.send("1").await, Ok(()), "{code}");
        assert_eq!(plane.sizes(), [1, 1, 1, 1, 1]);
    }
}

#[tokio::test(start_paused = true)]
async fn an_entry_that_the_answer_leaves_out_is_sent_again() {
    let plane = plane(|number, _, _| (number == 0).then(|| Answer::new(200, json!({}))));
    assert_eq!(plane.send("1").await, Ok(()));
    assert_eq!(plane.sizes(), [1, 1]);
}

#[tokio::test(start_paused = true)]
async fn when_sqs_does_not_come_back_the_client_is_told_at_its_deadline() {
    let plane = plane(|_, _, _| failed(500, "InternalError"));
    let began = Instant::now();
    assert_eq!(plane.send("1").await, Err(SendError::Deadline));
    assert_eq!(began.elapsed(), Duration::from_secs(10));
    let calls = plane.sizes().len();
    assert!((5..=60).contains(&calls), "{calls} calls in ten seconds");
    // Nobody waits any more: nothing is sent any more.
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert!(plane.sizes().len() <= calls + 1);
}

#[tokio::test(start_paused = true)]
async fn a_role_that_may_not_send_is_told_so_at_once_and_with_one_call() {
    let plane = plane(|_, _, _| failed(400, "AccessDeniedException"));
    assert_eq!(plane.send("1").await, Err(SendError::Unavailable));
    assert_eq!(plane.sizes(), [1]);
}

#[tokio::test(start_paused = true)]
async fn when_a_call_is_refused_each_of_its_messages_is_tried_alone() {
    let plane = plane(|_, _, bodies| {
        bodies.contains(&"\"bad\"".to_owned()).then(|| failed(400, "InvalidMessageContents")).flatten()
    });
    let texts = ["0", "1", "\"bad\"", "3"];
    let all = join_all(texts.iter().map(|text| plane.send(text))).await;
    assert_eq!(all, [Ok(()), Ok(()), Err(SendError::Refused), Ok(())]);
    assert_eq!(plane.sizes(), [1, 3, 1, 1, 1]);
}

#[tokio::test(start_paused = true)]
async fn a_queue_that_is_gone_is_looked_up_again() {
    for code in ["AWS.SimpleQueueService.NonExistentQueue", "com.amazonaws.sqs#QueueDoesNotExist"] {
        let plane = plane(move |_, queue, _| if queue == "moved" { None } else { failed(400, code) });
        let deadline = Instant::now() + Duration::from_secs(10);
        let outcome = plane.publisher.send(&route(QUEUE, "moving"), event("1"), deadline).await;
        assert_eq!(outcome, Ok(()));
        let queues: Vec<String> = plane.calls.lock().unwrap().iter().map(|(queue, _)| queue.clone()).collect();
        assert_eq!(queues, ["consumer-acme", "moved"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_queue_that_is_gone_for_good_is_said_to_be_unavailable() {
    let plane = plane(|_, _, _| failed(400, "QueueDoesNotExist"));
    assert_eq!(plane.send("1").await, Err(SendError::Unavailable));
}

#[tokio::test(start_paused = true)]
async fn a_full_lane_turns_messages_away_and_the_other_lane_does_not_notice() {
    let plane = plane(|_, queue, bodies| (queue == "consumer-acme").then(|| all_sent(bodies.len(), 3_500)));
    let slow = join_all((0..2_000).map(|_| plane.send("1")));
    let quick = async {
        tokio::time::sleep(Duration::from_millis(1)).await;
        let began = Instant::now();
        plane.send_to(OTHER, "2").await.unwrap();
        began.elapsed()
    };
    let (slow, quick) = tokio::join!(slow, quick);
    assert_eq!(slow.iter().filter(|outcome| **outcome == Err(SendError::Full)).count(), 2_000 - 1_024);
    assert_eq!(quick, Duration::from_millis(20));
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_room_leaves_half_of_the_lane_to_others() {
    let plane = plane(|_, _, bodies| Some(all_sent(bodies.len(), 1_000)));
    let deadline = Instant::now() + Duration::from_secs(10);
    let route = route(QUEUE, "acme");
    let bulk = join_all((0..1_000).map(|_| plane.publisher.send_waiting(&route, event("1"), deadline)));
    let single = async {
        tokio::time::sleep(Duration::from_millis(1)).await;
        plane.send("2").await
    };
    let (bulk, single) = tokio::join!(bulk, single);
    assert_eq!(single, Ok(()));
    assert!(bulk.iter().all(Result::is_ok));
}

#[tokio::test(start_paused = true)]
async fn a_call_carries_at_most_the_bytes_of_one_message_limit() {
    let plane = plane(|_, _, _| None);
    let large = format!("\"{}\"", "x".repeat(100_000));
    let all = join_all((0..6).map(|_| plane.send(&large))).await;
    assert!(all.iter().all(Result::is_ok));
    assert_eq!(plane.sizes(), [1, 2, 2, 1]);
    let too_large = format!("\"{}\"", "x".repeat(262_144));
    assert_eq!(plane.send(&too_large).await, Err(SendError::TooLarge(262_144)));
}

#[path = "trouble_tests.rs"]
mod trouble;
