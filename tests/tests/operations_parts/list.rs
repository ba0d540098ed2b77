//! `consumer redrive list`.

use std::collections::BTreeSet;
use std::time::Duration;

use tests::scripted::{Fault, Op, QueueSpec};

use super::{DEAD, QUEUE, acme, consumer, ids, letter, letters, started};

#[tokio::test(flavor = "multi_thread")]
async fn a_list_says_why_each_letter_is_dead_and_leaves_it_where_it_was() {
    let aws = acme();
    letter(&aws, "m-1", "{\"secret\":1}");
    aws.put_message(DEAD, "{\"secret\":2}", &[]);
    aws.put_message(DEAD, "{\"secret\":3}", &[("tenant_id", "other")]);
    letter(&aws, "m-4", &"x".repeat(409_600));
    let ended = consumer(&aws, "acme", &["redrive", "list", "--json"]).await;
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let json = ended.json();
    let shown: Vec<_> = json
        .iter()
        .map(|line| (line["tenant_id"].as_str(), line["reason"].as_str(), line["storable"].as_bool().unwrap()))
        .collect();
    assert_eq!(
        shown,
        [
            (Some("acme"), None, true),
            (None, Some("no_tenant"), false),
            (Some("other"), Some("foreign_tenant"), false),
            (Some("acme"), Some("too_large"), false)
        ]
    );
    assert_eq!(
        (json[0]["message_id"].as_str(), json[1]["why"].as_str()),
        (Some("m-1"), Some("it has no attribute tenant_id"))
    );
    assert_eq!(json[1]["message_id"], json[1]["sqs_message_id"], "the key it would be stored under");
    assert_eq!((json[0]["receives"].as_u64(), json[1]["bytes"].as_u64()), (Some(1), Some(12)));
    assert!(json[0]["sent_at"].as_str().unwrap().ends_with('Z'));
    assert_eq!(aws.messages(DEAD).iter().filter(|message| message.visible).count(), 4, "all are handed back");
    assert!(!ended.out.contains("secret") && !ended.err.contains("secret"), "bodies are shown unasked");
    assert_eq!((aws.count(Op::DeleteMessageBatch), aws.count(Op::SendMessageBatch)), (0, 0));
    assert_eq!(ended.err.lines().last().unwrap(), format!("4 dead letters of 4 in {}", aws.queue_arn(DEAD)));
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_are_shown_when_asked_for() {
    let aws = acme();
    letter(&aws, "m-1", "{\"a\":\u{1f600}\n1}");
    let ended = consumer(&aws, "acme", &["redrive", "list", "--bodies"]).await;
    assert_eq!(ended.out.lines().nth(1), Some("    {\"a\":\u{1f600}\\n1}"));
    let ended = consumer(&aws, "acme", &["redrive", "list", "--bodies", "--json"]).await;
    assert_eq!(ended.json()[0]["body"], "{\"a\":\u{1f600}\n1}");
}

#[tokio::test(flavor = "multi_thread")]
async fn many_letters_are_listed_once_each() {
    let aws = acme();
    letters(&aws, 137);
    // As SQS may: the same letter twice in one answer.
    aws.on(Op::ReceiveMessage).nth(3).fail(Fault::Duplicates);
    let ended = consumer(&aws, "acme", &["redrive", "list"]).await;
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let listed = ids(&ended);
    assert_eq!((listed.len(), listed.iter().collect::<BTreeSet<_>>().len()), (137, 137));
    assert_eq!((aws.queue(DEAD).visible, aws.queue(DEAD).in_flight), (137, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_is_not_complete_says_so() {
    let aws = acme();
    letters(&aws, 5);
    let ended = consumer(&aws, "acme", &["redrive", "list", "--max", "2"]).await;
    assert_eq!((ended.code, ids(&ended).len()), (Some(1), 2), "{}", ended.err);
    assert!(ended.err.contains("incomplete: it ends at --max 2; SQS counts about 5 in all"), "{}", ended.err);
    assert_eq!((aws.queue(DEAD).visible, aws.queue(DEAD).in_flight), (5, 0));

    // Another reader holds one.
    let url = aws.queue_url(DEAD);
    let body = format!("{{\"QueueUrl\":\"{url}\",\"VisibilityTimeout\":600}}");
    let http = tests::http::Http::new();
    let target = [("x-amz-target", "AmazonSQS.ReceiveMessage"), ("content-type", "application/x-amz-json-1.0")];
    assert_eq!(http.post(aws.endpoint(), &target, body).await.status, 200);
    let ended = consumer(&aws, "acme", &["redrive", "list"]).await;
    assert_eq!((ended.code, ids(&ended).len()), (Some(1), 4), "{}", ended.err);
    let said = "SQS counted 5 at the start, 1 of them hidden by a reader before this one, and 4 could be read";
    assert!(ended.err.contains(said), "{}", ended.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_is_ended_by_a_signal_and_hides_nothing() {
    let aws = acme();
    letters(&aws, 60);
    aws.on(Op::ReceiveMessage).from(2).fail(Fault::Late(Duration::from_millis(300)));
    let running = started(&aws, &["redrive", "list"]).await;
    aws.wait_until("the second receive", |aws| aws.count(Op::ReceiveMessage) >= 2).await;
    running.signal("INT").await;
    let ended = running.ended().await;
    assert_eq!(ended.code, Some(1));
    assert!(ended.err.contains("incomplete: interrupted"), "{}", ended.err);
    assert!(aws.count(Op::ReceiveMessage) <= 3, "{}", aws.story());
    assert_eq!((aws.queue(DEAD).visible, aws.queue(DEAD).in_flight), (60, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_queue_is_an_empty_list() {
    let aws = acme();
    let ended = consumer(&aws, "acme", &["redrive", "list"]).await;
    assert_eq!((ended.code, ended.out.as_str()), (Some(0), ""));
    assert_eq!(ended.err, format!("0 dead letters of 0 in {}\n", aws.queue_arn(DEAD)));
}

#[tokio::test(flavor = "multi_thread")]
async fn letters_are_found_by_tenant_and_by_id() {
    let aws = acme();
    aws.provision("pool-1");
    for (tenant, id) in [("acme", "m-1"), ("acme-2", "m-2"), ("acm", "m-3"), ("acme", "m-4")] {
        aws.put_message("consumer-pool-1-dlq", "{}", &[("tenant_id", tenant), ("message_id", id)]);
    }
    aws.put_message("consumer-pool-1-dlq", "{}", &[]);
    let keys = |ended: &tests::command::Ended| -> Vec<String> {
        ended.json().iter().map(|line| line["message_id"].as_str().unwrap().to_owned()).collect()
    };
    let ended = consumer(&aws, "pool-1", &["redrive", "list", "--json", "--tenant", "acme"]).await;
    assert_eq!((ended.code, keys(&ended)), (Some(0), vec!["m-1".to_owned(), "m-4".to_owned()]));
    let ids = ["redrive", "list", "--json", "--message-id", "m-3", "--message-id", "m-1"];
    let mut found = keys(&consumer(&aws, "pool-1", &ids).await);
    // SQS gives no order.
    found.sort_unstable();
    assert_eq!(found, ["m-1", "m-3"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_that_is_no_dead_letter_queue_is_not_touched() {
    let aws = acme();
    let own = aws.queue_arn(QUEUE);
    let ended = consumer(&aws, "acme", &["redrive", "list", "--dead-letter-queue", &own]).await;
    assert_eq!(ended.code, Some(2));
    assert_eq!(ended.err, format!("consumer: {own} is the environment's own queue, not a dead-letter queue\n"));

    // The live queue of somebody else: looking into it would bring its messages nearer to their end.
    aws.provision("other");
    let other = aws.queue_arn("consumer-other");
    aws.put_message("consumer-other", "{}", &[("tenant_id", "other")]);
    let ended = consumer(&aws, "acme", &["redrive", "send", "--dead-letter-queue", &other]).await;
    assert_eq!(ended.code, Some(1));
    assert!(ended.err.starts_with(&format!("consumer: {other} has a redrive policy itself")), "{}", ended.err);

    aws.create_queue(QueueSpec::named("consumer-bare"));
    aws.set_parameter("/bare/consumer_sqs", &aws.queue_arn("consumer-bare"));
    let ended = consumer(&aws, "bare", &["redrive", "list"]).await;
    assert_eq!(ended.code, Some(1));
    assert!(ended.err.contains("has no redrive policy, so nothing of it becomes a dead letter"), "{}", ended.err);
    assert_eq!(aws.count(Op::ReceiveMessage), 0);
}
