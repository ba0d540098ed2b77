//! A role that lacks a right, and an AWS that is not what the command line says: errors that say what to do.

use tests::scripted::{Fault, Op};

use super::{DEAD, QUEUE, acme, consumer, letters, operator};
use tests::command::run;

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_right_is_named_with_the_resource_it_is_missing_on() {
    let (queue, dead, table) = (
        "arn:aws:sqs:eu-central-1:123456789012:consumer-acme",
        "arn:aws:sqs:eu-central-1:123456789012:consumer-acme-dlq",
        "arn:aws:dynamodb:eu-central-1:123456789012:table/consumer-acme",
    );
    let purge: &[&str] = &["purge", "--tenant", "acme", "--force", "--yes-delete", "acme"];
    let send: &[&str] = &["redrive", "send"];
    for (command, op, right) in [
        (send, Op::GetParameters, "ssm:GetParameters on parameter/acme/consumer_sqs".to_owned()),
        (send, Op::GetQueueAttributes, format!("sqs:GetQueueAttributes on {queue}")),
        (send, Op::ReceiveMessage, format!("sqs:ReceiveMessage on {dead}")),
        (send, Op::SendMessageBatch, format!("sqs:SendMessage on {queue}")),
        (send, Op::DeleteMessageBatch, format!("sqs:DeleteMessage on {dead}")),
        (purge, Op::GetParameters, "ssm:GetParameters on parameter/acme/consumer_ddb".to_owned()),
        (purge, Op::Query, format!("dynamodb:Query on {table}")),
        (purge, Op::BatchWriteItem, format!("dynamodb:BatchWriteItem on {table}")),
    ] {
        let aws = acme();
        letters(&aws, 3);
        super::purge::fill(&aws, "consumer-acme", "acme", 3).await;
        aws.on(op).fail(Fault::AccessDenied);
        let ended = consumer(&aws, "acme", command).await;
        assert_eq!(ended.code, Some(1), "{op:?}");
        let wanted = format!("consumer: the role in use needs {right} (docs/operations.md has the whole policy): ");
        assert!(ended.err.contains(&wanted), "{op:?}: {}", ended.err);
        assert_eq!(aws.count(op), 1, "{op:?}: once is enough to know");
        assert_eq!(aws.queue(DEAD).in_flight, 0, "{op:?}: letters are left hidden");
        assert_eq!(aws.row_count("consumer-acme"), 4, "{op:?}: records or claims are gone");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_environment_that_is_not_there_is_said_so() {
    let aws = acme();
    for command in [&["redrive", "list"][..], &["purge", "--tenant", "other", "--dry-run"]] {
        let ended = consumer(&aws, "other", command).await;
        assert_eq!(ended.code, Some(1));
        assert!(
            ended.err.starts_with("consumer: there is no parameter /other/consumer_")
                && ended.err.contains("in eu-central-1"),
            "{}",
            ended.err
        );
    }
    aws.set_parameter("/acme/consumer_sqs", "arn:aws:sqs:us-east-1:123456789012:consumer-acme");
    let ended = consumer(&aws, "acme", &["redrive", "list"]).await;
    assert_eq!(ended.code, Some(1));
    assert!(ended.err.contains("/acme/consumer_sqs cannot be used: it names region us-east-1"), "{}", ended.err);
    aws.set_parameter("/acme/consumer_sqs", &aws.queue_arn(QUEUE));
    aws.delete_queue(DEAD);
    let ended = consumer(&aws, "acme", &["redrive", "list"]).await;
    let dead = aws.queue_arn(DEAD);
    assert!(ended.err.contains(&format!("{dead} does not exist in this account and region")), "{}", ended.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_command_line_is_refused_before_any_call() {
    let aws = acme();
    for (arguments, said) in [
        (&["redrive"][..], "Usage: consumer redrive <COMMAND>"),
        (&["redrive", "lst"], "unrecognized subcommand 'lst'"),
        (&["redrive", "send", "--rate", "fast"], "a rate is a whole number from 1 to 10000 with /s or /m"),
        (&["redrive", "send", "--dead-letter-queue", "dlq"], "not an ARN"),
        (&["purge"], "--tenant <TENANT>"),
        (&["purge", "--tenant", "Acme"], "a tenant id matches"),
        (&["purge", "--tenant", "acme", "--yes-delete", "acm"], "--yes-delete says \"acm\" and --tenant says \"acme\""),
        (&["purge", "--tenant", "other"], "acme is one tenant's own environment, and other is another tenant"),
    ] {
        let ended = consumer(&aws, "acme", arguments).await;
        assert_eq!(ended.code, Some(2), "{arguments:?}: {}", ended.err);
        assert!(ended.err.contains(said), "{arguments:?}: {}", ended.err);
    }
    let ended = run(&operator(&aws, "acme").unset("ENVIRONMENT"), &["redrive", "list"]).await;
    assert_eq!(ended.code, Some(2));
    assert!(ended.err.contains("--environment <ENVIRONMENT>"), "{}", ended.err);
    let ended = run(&operator(&aws, "acme").unset("AWS_REGION"), &["redrive", "list"]).await;
    assert_eq!(ended.code, Some(2));
    assert!(ended.err.starts_with("consumer: AWS_REGION: must be set"), "{}", ended.err);
    assert!(aws.all_calls().is_empty(), "{}", aws.story());
}

#[tokio::test(flavor = "multi_thread")]
async fn help_is_success_and_the_service_names_the_commands() {
    let aws = acme();
    for (arguments, said) in [
        (&["redrive", "--help"][..], "Sends dead letters back to the queue that they came from"),
        (&["redrive", "list", "--help"], "--bodies"),
        (&["purge", "--help"], "--yes-delete <TENANT>"),
        (
            &["--help"],
            "redrive list, redrive send: the queue's dead letters; purge: the records of a tenant that left.",
        ),
    ] {
        let ended = consumer(&aws, "acme", arguments).await;
        assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""), "{arguments:?}");
        assert!(ended.out.contains(said), "{arguments:?}: {}", ended.out);
    }
}
