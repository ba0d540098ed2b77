//! Reading records: what is stored, or a 503; and nothing at all where reads are off.

use std::time::Duration;

use tests::inside::problem;
use tests::matrix::{assert_honest, assert_in_time, each};
use tests::scripted::{Fault, Op, Service};

use super::{acme, consumer, drained, put_many};

#[tokio::test(flavor = "multi_thread")]
async fn records_are_read_as_they_are_or_the_answer_is_503() {
    // A page is read from behind the claims of payments, where nothing is here, and then from before them.
    let cases = Fault::each_of(Op::Query).into_iter().flat_map(|fault| [(fault.clone(), 1), (fault, 2)]);
    each(cases.collect(), |(fault, number)| async move {
        let aws = acme(10);
        let events = put_many(&aws, 3);
        let service = consumer(&aws).set("RECORD_READS", "on").start().await;
        drained(&aws, &events).await;
        let url = format!("{}/consumer/messages?limit=2", service.url);
        let rule = aws.on(Op::Query).nth(number).fail(fault);
        let answer = service.http.get(&url, &[("tenantID", "acme")]).await;
        assert_in_time(&answer, Duration::from_secs(10));
        let newest: Vec<_> = events.into_iter().rev().take(2).collect();
        if answer.status == 200 {
            assert_eq!(records(&answer.json()), newest);
        } else {
            assert_eq!(answer.status, 503, "{}", answer.text());
            assert_honest(&answer);
        }
        assert_eq!(rule.hits(), 1);
        let answer = service.http.get(&url, &[("tenantID", "acme")]).await;
        assert_eq!(records(&answer.json()), newest);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn records_cannot_be_read_unless_reads_are_on() {
    for reads in [None, Some("off")] {
        let aws = acme(10);
        let events = put_many(&aws, 1);
        let mut launch = consumer(&aws).set("QUEUE_DEPTH_INTERVAL", "0");
        if let Some(reads) = reads {
            launch = launch.set("RECORD_READS", reads);
        }
        let service = launch.start().await;
        drained(&aws, &events).await;
        let before = aws.count_service(Service::DynamoDb);
        for path in ["/consumer/messages", "/consumer/messages?limit=1", "/consumer/messages/m-0000"] {
            let answer = service.http.get(&format!("{}{path}", service.url), &[("tenantID", "acme")]).await;
            problem(&answer, 404, "not-found");
        }
        assert_eq!((aws.count(Op::Query), aws.count_service(Service::DynamoDb)), (0, before), "{reads:?}");
    }
}

/// The records of a page: id and body of each, in order.
fn records(page: &serde_json::Value) -> Vec<(String, String)> {
    let text = |record: &serde_json::Value, name: &str| record[name].as_str().unwrap_or_default().to_owned();
    let records = page["messages"].as_array().expect("a list of messages");
    records.iter().map(|record| (text(record, "message_id"), text(record, "body"))).collect()
}
