"""tools/tenant-records against a DynamoDB of moto's."""

import subprocess

import boto3
import pytest
from checkout import ROOT

POOL, OWN = "consumer-pool-1", "consumer-acme"


@pytest.fixture
def aws(account):
    """A client; both tables are there, empty."""
    client = boto3.client("dynamodb")
    for table in (POOL, OWN):
        client.create_table(
            TableName=table,
            BillingMode="PAY_PER_REQUEST",
            KeySchema=[{"AttributeName": "tenant_id", "KeyType": "HASH"}, {"AttributeName": "message_id", "KeyType": "RANGE"}],
            AttributeDefinitions=[
                {"AttributeName": "tenant_id", "AttributeType": "S"},
                {"AttributeName": "message_id", "AttributeType": "S"},
            ],
        )
    yield client
    for table in (POOL, OWN):
        client.delete_table(TableName=table)


def fill(aws, table, tenant, number):
    """Records of a tenant with bodies that are no plain text, and a payment's claim."""
    for i in range(number):
        aws.put_item(
            TableName=table,
            Item={
                "tenant_id": {"S": tenant},
                "message_id": {"S": f"m-{i:03}"},
                "body": {"S": f'{{"note": "é $HOME \\" {i}"}}'},
                "expires_at": {"N": "12345678901234567890"},
            },
        )
    aws.put_item(
        TableName=table, Item={"tenant_id": {"S": tenant}, "message_id": {"S": "payment#1"}, "state": {"S": "requested"}}
    )


def items(aws, table, tenant):
    """All items of a tenant."""
    answer = aws.query(TableName=table, KeyConditionExpression="tenant_id = :t", ExpressionAttributeValues={":t": {"S": tenant}})
    assert "LastEvaluatedKey" not in answer
    return answer["Items"]


def records(*arguments):
    """Runs the script."""
    return subprocess.run([ROOT / "tools/tenant-records", *arguments], capture_output=True, text=True)


def test_all_records_and_claims_of_the_tenant_are_copied_and_nobody_else_s(aws):
    fill(aws, POOL, "acme", 60)
    fill(aws, POOL, "acme-2", 3)
    done = records("copy", POOL, OWN, "acme")
    assert (done.returncode, done.stdout) == (0, f"copied 61 records of acme from {POOL} to {OWN}\n"), done.stderr
    assert items(aws, OWN, "acme") == items(aws, POOL, "acme")
    assert aws.scan(TableName=OWN, Select="COUNT")["Count"] == 61
    assert records("count", OWN, "acme").stdout == "61\n"


def test_copying_twice_changes_nothing(aws):
    fill(aws, POOL, "acme", 5)
    records("copy", POOL, OWN, "acme")
    before = items(aws, OWN, "acme")
    assert records("copy", POOL, OWN, "acme").returncode == 0
    assert items(aws, OWN, "acme") == before


def test_a_tenant_without_records_is_no_error(aws):
    assert records("count", POOL, "acme").stdout == "0\n"
    assert records("copy", POOL, OWN, "acme").returncode == 0


@pytest.mark.parametrize(
    "arguments, code, why",
    [
        (["copy", POOL, POOL, "acme"], 1, "both tables"),
        (["count", POOL, "Acme"], 1, "no tenant id"),
        (["count", "consumer-pool-9", "acme"], 1, "cannot read consumer-pool-9"),
        (["purge", POOL, "acme", "--yes"], 2, "usage"),
        (["move"], 2, "usage"),
    ],
)
def test_wrong_calls_are_refused(aws, arguments, code, why):
    done = records(*arguments)
    assert done.returncode == code
    assert why in done.stderr
