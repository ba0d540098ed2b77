"""Who may do what, tried with the roles' own credentials through the gate that enforces their policies."""

import json
from pathlib import Path

import boto3
import pytest
from gate import Gate, web_identity_token
from lab import ACCOUNT, REGION
from stories import APPS

STORIES = {"services_ground"}
CALLS = json.loads(Path(__file__).with_name("calls.json").read_text())


@pytest.fixture(scope="module")
def signed_in(stories, lab):
    """Gives a client of a service for an app of an environment, signed in as the pod would be."""
    stories.hear("services_ground")
    gate, issuer = Gate(lab.aws, CALLS["authorised_by"]), lab.oidc_provider_arn.split("oidc-provider/")[1]

    def client(service: str, environment: str, app: str, claims: tuple[str, str] | None = None):
        sts = boto3.client("sts", region_name=REGION, endpoint_url=gate.endpoint)
        got = sts.assume_role_with_web_identity(
            RoleArn=f"arn:aws:iam::{ACCOUNT}:role/{app}-role-{environment}",
            RoleSessionName="test",
            WebIdentityToken=web_identity_token(issuer, *(claims or (environment, app))),
        )["Credentials"]
        return boto3.client(
            service, region_name=REGION, endpoint_url=gate.endpoint, aws_access_key_id=got["AccessKeyId"],
            aws_secret_access_key=got["SecretAccessKey"], aws_session_token=got["SessionToken"],
        )  # fmt: skip

    yield client
    gate.stop()


def queue_url(lab, environment: str) -> str:
    return f"{lab.aws.endpoint}/{ACCOUNT}/consumer-{environment}"


def denied(call) -> bool:
    try:
        call()
    except Exception as error:
        return error.response["Error"]["Code"] in ("AccessDenied", "AccessDeniedException")
    return False


@pytest.mark.parametrize(
    ("tenant", "may"), [("pool-1", True), ("svc-advanced", True), ("svc-premium", False)], ids=["its-own", "an-advanced-tenants", "a-premium-tenants"]
)
def test_the_pools_producer_sends_to_its_own_queue_and_to_those_that_name_it(signed_in, lab, tenant, may):
    sqs = signed_in("sqs", "pool-1", "producer")
    assert denied(lambda: sqs.send_message(QueueUrl=queue_url(lab, tenant), MessageBody="{}")) is not may


def test_the_pools_producer_reads_every_tenants_queue_parameter_and_no_tables(signed_in):
    ssm = signed_in("ssm", "pool-1", "producer")
    found = ssm.get_parameters(Names=["/svc-basic/consumer_sqs", "/svc-premium/consumer_sqs"])["Parameters"]
    assert {one["Name"]: one["Value"].rsplit(":", 1)[1] for one in found} == {
        "/svc-basic/consumer_sqs": "consumer-pool-1", "/svc-premium/consumer_sqs": "consumer-svc-premium",
    }  # fmt: skip
    assert denied(lambda: ssm.get_parameters(Names=["/svc-basic/consumer_ddb"]))


@pytest.mark.parametrize("app", APPS)
def test_a_tenants_apps_cannot_read_another_tenants_parameters(signed_in, app):
    ssm = signed_in("ssm", "svc-premium", app)
    assert ssm.get_parameters(Names=["/svc-premium/consumer_sqs"])["Parameters"]
    assert denied(lambda: ssm.get_parameters(Names=["/svc-premium/consumer_sqs", "/svc-advanced/consumer_sqs"]))


def test_a_producer_has_no_table_and_a_consumer_cannot_send(signed_in, lab):
    row = {"tenant_id": {"S": "svc-premium"}, "message_id": {"S": "m"}}
    producer = signed_in("dynamodb", "svc-premium", "producer")
    assert denied(lambda: producer.put_item(TableName="consumer-svc-premium", Item=row))
    consumer = signed_in("sqs", "svc-premium", "consumer")
    assert denied(lambda: consumer.send_message(QueueUrl=queue_url(lab, "svc-premium"), MessageBody="{}"))


def test_one_tenants_consumer_cannot_drain_or_store_for_another(signed_in, lab):
    sqs = signed_in("sqs", "svc-advanced", "consumer")
    assert not denied(lambda: sqs.receive_message(QueueUrl=queue_url(lab, "svc-advanced"), WaitTimeSeconds=0))
    assert denied(lambda: sqs.receive_message(QueueUrl=queue_url(lab, "svc-premium"), WaitTimeSeconds=0))
    for other, may in (("svc-advanced", True), ("svc-advanced-dlq", True), ("svc-premium", False), ("svc-premium-dlq", False)):
        assert denied(lambda other=other: sqs.get_queue_attributes(QueueUrl=queue_url(lab, other), AttributeNames=["All"])) is not may
    dynamodb = signed_in("dynamodb", "svc-advanced", "consumer")
    put = [{"PutRequest": {"Item": {"tenant_id": {"S": "svc-advanced"}, "message_id": {"S": "m"}}}}]
    assert denied(lambda: dynamodb.batch_write_item(RequestItems={"consumer-svc-premium": put}))


def test_a_tenants_own_payments_on_a_shared_table_is_held_to_its_rows(signed_in):
    dynamodb = signed_in("dynamodb", "svc-basic-pay", "payments")
    for tenant, may in (("svc-basic-pay", True), ("svc-basic", False)):
        row = {"tenant_id": {"S": tenant}, "message_id": {"S": "payment#1"}}
        assert denied(lambda row=row: dynamodb.put_item(TableName="consumer-pool-1", Item=row)) is not may


@pytest.mark.parametrize("claims", [("svc-advanced", "consumer"), ("svc-premium", "producer")], ids=["another-tenants", "another-apps"])
def test_a_role_cannot_be_taken_on_by_another_service_account(signed_in, claims):
    assert denied(lambda: signed_in("sqs", "svc-premium", "consumer", claims))
