"""tools/move-messages against queues of moto's."""

import json
import subprocess

import boto3
import pytest
from checkout import ROOT

ATTRIBUTES = {"tenant_id": "acme", "message_id": "m-1", "content_type": "text/plain; charset=utf-8"}


@pytest.fixture
def queues(account):
    """Two empty queues."""
    sqs = boto3.client("sqs")
    urls = [sqs.create_queue(QueueName=name)["QueueUrl"] for name in ("consumer-acme", "consumer-pool-1")]
    yield sqs, *urls
    for url in urls:
        sqs.delete_queue(QueueUrl=url)


def move(*arguments):
    """Runs the script."""
    return subprocess.run([ROOT / "tools/move-messages", *arguments], capture_output=True, text=True)


def contents(sqs, url):
    """Body and attributes of all messages."""
    found = []
    while messages := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, MessageAttributeNames=["All"]).get("Messages"):
        for m in messages:
            attributes = {n: (v["DataType"], v["StringValue"]) for n, v in m.get("MessageAttributes", {}).items()}
            found.append((m["Body"], attributes))
    return found


def test_bodies_and_attributes_arrive_unchanged_and_the_first_queue_is_empty(queues):
    sqs, source, target = queues
    bodies = ["plain", '{"note": "é 🙂 \\" $HOME"}', "{'a': 1}", "two\nlines ", "null"] + [f"m{i}" for i in range(8)]
    given = {n: {"DataType": "String", "StringValue": v} for n, v in ATTRIBUTES.items()}
    for body in bodies:
        sqs.send_message(QueueUrl=source, MessageBody=body, MessageAttributes=given)
    sqs.send_message(QueueUrl=source, MessageBody="without attributes")
    done = move(source, target)
    assert (done.returncode, done.stdout) == (0, "moved 14 messages\n"), done.stderr
    wanted = [(b, {n: ("String", v) for n, v in ATTRIBUTES.items()}) for b in bodies] + [("without attributes", {})]
    assert sorted(contents(sqs, target), key=json.dumps) == sorted(wanted, key=json.dumps)
    counts = sqs.get_queue_attributes(QueueUrl=source, AttributeNames=["All"])["Attributes"]
    assert counts["ApproximateNumberOfMessages"] == counts["ApproximateNumberOfMessagesNotVisible"] == "0"


def test_messages_that_are_too_large_for_one_batch_are_moved_as_well(queues):
    sqs, source, target = queues
    for letter in "abc":
        sqs.send_message(QueueUrl=source, MessageBody=letter * 150_000)
    assert move(source, target).stdout == "moved 3 messages\n"
    assert sorted(body[0] for body, _ in contents(sqs, target)) == ["a", "b", "c"]


def test_a_target_that_is_not_there_loses_nothing(queues):
    sqs, source, target = queues
    sqs.send_message(QueueUrl=source, MessageBody="a")
    done = move(source, target + "-gone")
    assert done.returncode == 1
    assert "takes no messages; 0 were moved" in done.stderr
    assert (
        sqs.get_queue_attributes(QueueUrl=source, AttributeNames=["All"])["Attributes"]["ApproximateNumberOfMessagesNotVisible"]
        == "1"
    )


def test_a_queue_is_not_moved_into_itself(queues):
    _, source, _ = queues
    done = move(source, source)
    assert (done.returncode, done.stderr) == (1, f"tools/move-messages: both queues are {source}\n")
