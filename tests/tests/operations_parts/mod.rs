mod list;
mod purge;
mod rights;
mod send;
mod send_faults;

use tests::command::{Ended, Running, begin, run};
use tests::scripted::Aws;
use tests::service::{Kind, Launch};

pub(crate) const QUEUE: &str = "consumer-acme";
pub(crate) const DEAD: &str = "consumer-acme-dlq";

/// An AWS with the tenant `acme` and its queues and table.
pub(crate) fn acme() -> Aws {
    let aws = Aws::start();
    aws.provision("acme");
    aws
}

/// The commands as an operator of `environment` runs them.
pub(crate) fn operator(aws: &Aws, environment: &str) -> Launch {
    Launch::new(Kind::Consumer, aws, environment)
}

/// Runs `consumer ARGUMENTS` for `environment`.
pub(crate) async fn consumer(aws: &Aws, environment: &str, arguments: &[&str]) -> Ended {
    run(&operator(aws, environment), arguments).await
}

/// Starts `consumer ARGUMENTS` for `acme`.
pub(crate) async fn started(aws: &Aws, arguments: &[&str]) -> Running {
    begin(&operator(aws, "acme"), arguments, "").await
}

/// The first word of each line: the ids that SQS gave.
pub(crate) fn ids(ended: &Ended) -> Vec<&str> {
    ended.out.lines().filter_map(|line| line.split(' ').next()).collect()
}

/// Puts a dead letter as the producer made it.
pub(crate) fn letter(aws: &Aws, id: &str, body: &str) {
    let attributes = [("tenant_id", "acme"), ("message_id", id), ("content_type", "application/json")];
    aws.put_message(DEAD, body, &attributes);
}

/// Puts `count` of them, `m-000` and so on.
pub(crate) fn letters(aws: &Aws, count: usize) {
    (0..count).for_each(|n| letter(aws, &format!("m-{n:03}"), &format!("{{\"n\":{n}}}")));
}

/// The record keys of the messages in a queue, in order.
pub(crate) fn keys(aws: &Aws, queue: &str) -> Vec<String> {
    aws.messages(queue).into_iter().map(|message| message.attributes["message_id"].clone()).collect()
}
