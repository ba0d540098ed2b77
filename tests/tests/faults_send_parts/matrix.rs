//! Every call that the producer makes, with every fault that it can meet.

use std::time::Duration;

use tests::matrix::{assert_honest, assert_in_time, each};
use tests::scripted::{Aws, Fault, Op};

use super::{REQUEST_TIMEOUT, message_id, message_ids, producer};

/// What an event is told that was not taken because of `fault`.
fn status_of_refusal(fault: &Fault) -> u16 {
    // SQS says that the entry is wrong, or something in between that even one message alone is too large.
    if matches!(fault, Fault::FailEntries { sender_fault: true, .. } | Fault::Page(413)) { 422 } else { 503 }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_fault_of_a_send_is_tried_again_or_told_and_a_200_means_the_queue_has_it() {
    each(Fault::each_of(Op::SendMessageBatch), |fault| async move {
        let aws = Aws::start();
        aws.provision("acme");
        let service = producer(&aws).start().await;
        aws.on(Op::SendMessageBatch).nth(1).fail(fault.clone());
        let answer = service.event("acme", r#"{"n":1}"#).await;
        assert_in_time(&answer, REQUEST_TIMEOUT);
        let stored = message_ids(&aws);
        if answer.status == 200 {
            assert_eq!(stored, [message_id(&answer.json())]);
            assert!(aws.messages("consumer-acme").iter().all(|message| message.body == r#"{"n":1}"#));
        } else {
            assert_honest(&answer);
            assert!(!fault.passes_when_tried_again(), "it was not tried again: {}", answer.text());
            assert_eq!(stored.len(), usize::from(fault.does_its_work()), "{stored:?}");
        }
        assert!(aws.count(Op::SendMessageBatch) <= 3, "{} calls for one fault", aws.count(Op::SendMessageBatch));
        let copies = aws.queue("consumer-acme").len();
        assert!(copies <= 1 + usize::from(fault.does_its_work()), "{copies} copies");
        let next = service.event("acme", r#"{"n":2}"#).await;
        assert_eq!(next.status, 200, "the request after it: {}", next.text());
        assert!(message_ids(&aws).contains(&message_id(&next.json())));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_send_that_fails_for_as_long_as_it_likes_is_told_in_time_and_recovers_without_a_restart() {
    each(Fault::each_of(Op::SendMessageBatch), |fault| async move {
        let aws = Aws::start();
        aws.provision("acme");
        // Less than one attempt of a call may take.
        let limit = Duration::from_secs(3);
        let service = producer(&aws).set("REQUEST_TIMEOUT", "3s").start().await;
        let rule = aws.on(Op::SendMessageBatch).fail(fault.clone());
        let answer = service.event("acme", r#"{"n":1}"#).await;
        assert_in_time(&answer, limit);
        if answer.status == 200 {
            assert_eq!(message_ids(&aws), [message_id(&answer.json())], "a 200 for what is not in the queue");
        } else {
            assert_honest(&answer);
            assert_eq!(answer.status, status_of_refusal(&fault), "{}", answer.text());
        }
        let calls = aws.count(Op::SendMessageBatch);
        assert!(calls <= 40, "{calls} calls for one request of 3 s");
        rule.lift();
        // The lane may still be pausing; a client that comes back as Retry-After says is served.
        let mut tries = 0;
        let sent = loop {
            let answer = service.event("acme", r#"{"n":2}"#).await;
            tries += 1;
            if answer.status == 200 {
                break answer;
            }
            assert!(tries < 10, "not recovered after {tries} tries: {}", answer.text());
            tokio::time::sleep(Duration::from_secs(answer.header("retry-after").parse().unwrap_or(1))).await;
        };
        assert!(message_ids(&aws).contains(&message_id(&sent.json())));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn any_fault_of_the_first_read_of_parameters_delays_readiness_and_no_more() {
    each(Fault::each_of(Op::GetParameters), |fault| async move {
        let aws = Aws::start();
        aws.provision("acme");
        aws.on(Op::GetParameters).nth(1).fail(fault.clone());
        let service = producer(&aws).start().await;
        let answer = service.event("acme", "{}").await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let calls = aws.count(Op::GetParameters) + aws.count(Op::GetParameter);
        assert!(calls <= 3, "{calls} reads");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn while_parameters_cannot_be_read_requests_get_503_and_the_process_comes_up_when_they_can() {
    each(Fault::each_of(Op::GetParameters), |fault| async move {
        // An answer that is only late is an answer, and access that is denied is tried one by one.
        if matches!(fault, Fault::Late(_) | Fault::SlowAnswer(_) | Fault::AccessDenied) {
            return;
        }
        let aws = Aws::start();
        aws.provision("acme");
        let rule = aws.on(Op::GetParameters).fail(fault.clone());
        let service = producer(&aws).set("REQUEST_TIMEOUT", "2s").listening().await;
        let answer = service.event("acme", "{}").await;
        assert_in_time(&answer, Duration::from_secs(2));
        assert!(!service.is_ready().await);
        if answer.status != 404 {
            assert_eq!(answer.status, 503, "{}", answer.text());
        }
        assert_honest(&answer);
        rule.lift();
        service.until_ready().await;
        assert_eq!(service.event("acme", "{}").await.status, 200);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_has_a_result_for_each_event_whatever_happens_to_the_sends() {
    each(Fault::each_of(Op::SendMessageBatch), |fault| async move {
        let aws = Aws::start();
        aws.provision("acme");
        let service = producer(&aws).start().await;
        aws.on(Op::SendMessageBatch).between(1..=2).fail(fault.clone());
        let events: Vec<String> = (0..40).map(|n| format!("{{\"n\":{n}}}")).collect();
        let body = format!("[{}]", events.join(","));
        let answer = service.http.post(&format!("{}/producer/batch", service.url), &[("tenantID", "acme")], body).await;
        assert_in_time(&answer, REQUEST_TIMEOUT);
        assert!([200, 207].contains(&answer.status.as_u16()), "{} {}", answer.status, answer.text());
        let results = answer.json()["results"].as_array().cloned().unwrap_or_default();
        assert_eq!(results.len(), 40);
        let stored = aws.messages("consumer-acme");
        for (n, result) in results.iter().enumerate() {
            match result["message_id"].as_str() {
                Some(id) => {
                    let found = stored.iter().find(|message| message.attributes["message_id"] == id);
                    assert_eq!(found.map(|message| message.body.as_str()), Some(events[n].as_str()), "result {n}");
                }
                None => {
                    assert!(!fault.passes_when_tried_again(), "event {n}: {result}");
                    assert_eq!(result["error"]["status"], status_of_refusal(&fault), "event {n}: {result}");
                }
            }
        }
    })
    .await;
}
