//! `consumer redrive send`: what is sent, under which key, and what is not.

use std::time::{Duration, Instant};

use tests::scripted::{Fault, Op};
use tests::service::{Kind, Launch};

use super::{DEAD, QUEUE, acme, consumer, keys, letter, letters, started};

const SEND: &[&str] = &["redrive", "send", "--rate", "10000/s"];

#[tokio::test(flavor = "multi_thread")]
async fn a_letter_goes_back_as_it_was_and_becomes_no_second_record() {
    let aws = acme();
    // The record of the first is there: it became a dead letter because its delete failed. It has no key of its own.
    aws.put_message(QUEUE, "{'event': 'Event raised!'}", &[("tenant_id", "acme")]);
    let service = Launch::new(Kind::Consumer, &aws, "acme").set("SHUTDOWN_TIMEOUT", "5s");
    let rule = aws.on(Op::DeleteMessageBatch).fail(Fault::FailEntries {
        which: tests::scripted::Which::All,
        code: "InvalidParameterValue",
        sender_fault: true,
    });
    let mut running = service.set("VISIBILITY_TIMEOUT", "1s").start().await;
    aws.wait_until("a dead letter", |aws| aws.queue(DEAD).len() == 1).await;
    rule.lift();
    let (key, first) = (aws.messages(DEAD)[0].id.clone(), aws.rows("consumer-acme"));
    assert_eq!((first.len(), first[0].sort.as_str()), (1, key.as_str()));
    let attributes = r#"{"tenant_id":{"DataType":"String","StringValue":"acme"},"message_id":{"DataType":"String.uuid","StringValue":"m-2"},
        "count":{"DataType":"Number","StringValue":"0.10"},"picture":{"DataType":"Binary.png","BinaryValue":"AP8K"}}"#;
    aws.put_raw_message(DEAD, "caf\u{e9} \u{1f600}\r\n1e400", attributes);
    assert_eq!(running.stop().await.0, Some(0));

    let ended = consumer(&aws, "acme", SEND).await;
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert_eq!(ended.out, format!("sent 2 to {}\n", aws.queue_arn(QUEUE)));
    assert!(aws.queue(DEAD).is_empty());
    let sent = aws.messages(QUEUE);
    assert_eq!(
        (sent[0].body.as_str(), sent[0].attributes["message_id"].as_str()),
        ("{'event': 'Event raised!'}", key.as_str())
    );
    assert_eq!(sent[1].body, "caf\u{e9} \u{1f600}\r\n1e400");
    let entry = &aws.calls(Op::SendMessageBatch)[0].entries()[1];
    assert_eq!(entry["MessageAttributes"], serde_json::from_str::<serde_json::Value>(attributes).unwrap());
    assert_ne!(sent[0].id, key, "SQS gave a new id, which is not the key");

    let _service = Launch::new(Kind::Consumer, &aws, "acme").start().await;
    aws.wait_until("an empty queue", |aws| aws.queue(QUEUE).is_empty()).await;
    let rows = aws.rows("consumer-acme");
    assert_eq!(rows.iter().map(|row| row.sort.as_str()).collect::<Vec<_>>(), [key.as_str(), "m-2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_group_of_a_pool_s_message_is_kept() {
    let aws = acme();
    aws.provision("pool-1");
    let http = tests::http::Http::new();
    let target = [("x-amz-target", "AmazonSQS.SendMessage"), ("content-type", "application/x-amz-json-1.0")];
    let attributes = serde_json::json!({"tenant_id": {"DataType": "String", "StringValue": "acme"}});
    let message = serde_json::json!({"QueueUrl": aws.queue_url("consumer-pool-1-dlq"), "MessageBody": "{}",
        "MessageGroupId": "acme", "MessageAttributes": attributes});
    assert_eq!(http.post(aws.endpoint(), &target, message.to_string()).await.status, 200);
    aws.put_message("consumer-pool-1-dlq", "{}", &[("tenant_id", "acme")]);
    assert_eq!(consumer(&aws, "pool-1", SEND).await.code, Some(0));
    let groups: Vec<_> = aws.messages("consumer-pool-1").into_iter().map(|message| message.group).collect();
    assert_eq!(groups, [Some("acme".to_owned()), None]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_consumer_would_refuse_again_stays_unless_it_is_wanted_all_the_same() {
    let aws = acme();
    letter(&aws, "m-1", "{}");
    aws.put_message(DEAD, "{}", &[("message_id", "m-2")]);
    let ended = consumer(&aws, "acme", SEND).await;
    assert_eq!(ended.code, Some(1), "not all that lay there was sent");
    assert!(
        ended.out.starts_with("sent 1 to ")
            && ended.out.contains("1 not sent, since the consumer would refuse them again")
    );
    let dead = aws.messages(DEAD);
    assert!(ended.err.contains(&format!("{}: not sent, it has no attribute tenant_id", dead[0].id)), "{}", ended.err);
    assert_eq!((keys(&aws, QUEUE), dead.len(), dead[0].visible), (vec!["m-1".to_owned()], 1, true));
    let ended = consumer(&aws, "acme", &[SEND, &["--even-if-unstorable"]].concat()).await;
    assert_eq!((ended.code, keys(&aws, QUEUE)), (Some(0), vec!["m-1".to_owned(), "m-2".to_owned()]));
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_was_asked_for_is_sent() {
    let aws = acme();
    aws.provision("pool-1");
    let dead = "consumer-pool-1-dlq";
    for n in 0..30 {
        let tenant = ["acme", "acme-2", "acm"][n % 3];
        aws.put_message(dead, "{}", &[("tenant_id", tenant), ("message_id", &format!("m-{n:02}"))]);
    }
    let of_acme = |options: &[&'static str]| [SEND, &["--tenant", "acme"], options].concat();
    let ended = consumer(&aws, "pool-1", &of_acme(&["--max", "3"])).await;
    assert_eq!((ended.code, aws.queue("consumer-pool-1").len()), (Some(0), 3), "{}", ended.err);
    let ended = consumer(&aws, "pool-1", &of_acme(&["--dry-run"])).await;
    assert!(ended.out.contains("would send 7 to ") && ended.out.lines().count() == 8, "{}", ended.out);
    assert_eq!((aws.queue("consumer-pool-1").len(), aws.queue(dead).visible), (3, 27), "a dry run changes nothing");
    let ended = consumer(&aws, "pool-1", &of_acme(&[])).await;
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert!(ended.out.contains("sent 7 to ") && ended.out.contains("20 of others left alone"), "{}", ended.out);
    let tenants: Vec<_> =
        aws.messages("consumer-pool-1").into_iter().map(|m| m.attributes["tenant_id"].clone()).collect();
    assert_eq!(tenants, ["acme"; 10]);
    assert_eq!((aws.queue(dead).visible, aws.queue(dead).in_flight), (20, 0));
    let ended = consumer(&aws, "pool-1", &[SEND, &["--message-id", "m-01"]].concat()).await;
    assert_eq!((ended.code, aws.queue("consumer-pool-1").len()), (Some(0), 11));
}

#[tokio::test(flavor = "multi_thread")]
async fn letters_that_come_back_are_not_chased() {
    let aws = acme();
    // Nobody's: the consumer gives each up on its first receive, and it is a dead letter again before the command ends.
    aws.create_queue(tests::scripted::QueueSpec::named(QUEUE).redrive(DEAD, 1));
    (0..12).for_each(|n| aws.put_message(DEAD, "{}", &[("message_id", &format!("m-{n:02}"))]));
    let service = Launch::new(Kind::Consumer, &aws, "acme").start().await;
    let ended = consumer(&aws, "acme", &["redrive", "send", "--rate", "4/s", "--even-if-unstorable"]).await;
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let sent: usize = aws.calls(Op::SendMessageBatch).iter().map(|call| call.entries().len()).sum();
    assert_eq!(sent, 12, "{}", ended.out);
    aws.wait_until("all of them as dead letters again", |aws| aws.queue(DEAD).len() == 12).await;
    drop(service);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rate_is_kept() {
    let aws = acme();
    letters(&aws, 12);
    let start = Instant::now();
    let ended = consumer(&aws, "acme", &["redrive", "send", "--rate", "5/s"]).await;
    assert_eq!((ended.code, aws.queue(QUEUE).len()), (Some(0), 12), "{}", ended.err);
    assert!(
        start.elapsed() >= Duration::from_secs(2),
        "ten of twelve are paid for at 5 a second: {:?}",
        start.elapsed()
    );
    let sizes: Vec<usize> = aws.calls(Op::SendMessageBatch).iter().map(|call| call.entries().len()).collect();
    assert!(sizes.iter().all(|size| *size <= 5), "no more at once than a second allows: {sizes:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signal_ends_it_between_batches_and_it_says_what_was_done() {
    let aws = acme();
    letters(&aws, 40);
    for signal in ["INT", "TERM"] {
        let before = aws.queue(QUEUE).len();
        let running = started(&aws, &["redrive", "send", "--rate", "5/s"]).await;
        aws.wait_until("something sent", |aws| aws.queue(QUEUE).len() > before).await;
        running.signal(signal).await;
        let ended = running.ended().await;
        assert_eq!(ended.code, Some(1), "{}", ended.err);
        let sent = aws.queue(QUEUE).len() - before;
        assert!(ended.out.starts_with(&format!("sent {sent} to ")), "{sent}: {}", ended.out);
        assert!(ended.out.ends_with("; interrupted, run it again for the rest\n"), "{}", ended.out);
        let dead = aws.queue(DEAD);
        assert_eq!((dead.visible + aws.queue(QUEUE).len(), dead.in_flight), (40, 0), "nothing lost, nothing hidden");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn large_letters_go_in_calls_that_every_sqs_takes() {
    let aws = acme();
    aws.max_batch_bytes(262_144);
    ["a", "b", "c", "d"].iter().for_each(|id| letter(&aws, id, &id.repeat(120_000)));
    let ended = consumer(&aws, "acme", SEND).await;
    assert_eq!((ended.code, keys(&aws, QUEUE).join("")), (Some(0), "abcd".to_owned()), "{}", ended.err);
    let sizes: Vec<usize> = aws.calls(Op::SendMessageBatch).iter().map(|call| call.entries().len()).collect();
    assert_eq!(sizes, [2, 2]);
}
