"""The services run on what the module made, with the rights that it gave them and no other."""

import json
import re
import subprocess
from pathlib import Path

import pytest
from gate import Gate
from readback import Account
from services import BINARIES, Service, request, until
from stories import APPS

STORIES = {"services_ground"}
CALLS = json.loads(Path(__file__).with_name("calls.json").read_text())
# The app of each deployment, as the chart has them in the three tiers.
DEPLOYMENTS = [("pool-1", APPS), ("svc-advanced", ("consumer", "payments")), ("svc-premium", APPS)]
# By tenant: whose producer and payments take its requests, and whose table its records land in.
TENANTS = {
    "svc-basic": ("pool-1", "pool-1", "pool-1"),
    "svc-advanced": ("pool-1", "svc-advanced", "svc-advanced"),
    "svc-premium": ("svc-premium", "svc-premium", "svc-premium"),
}


@pytest.fixture(scope="module")
def plane(stories, lab, tmp_path_factory):
    """Every deployment running, and what each tenant's requests led to."""
    for app in APPS:
        assert (BINARIES / app).exists(), f"{BINARIES / app} is missing: `cargo build` makes it, SERVICES_BIN names another folder"
    stories.hear("services_ground")
    gate = Gate(lab.aws, CALLS["authorised_by"])
    folder, issuer = tmp_path_factory.mktemp("services"), lab.oidc_provider_arn.split("oidc-provider/")[1]
    running = {}
    try:
        for environment, apps in DEPLOYMENTS:
            for app in apps:
                running[environment, app] = Service(app, environment, gate, issuer, folder).start()
        yield gate, running, {tenant: use(lab, running, tenant) for tenant in TENANTS}
    finally:
        for service in running.values():
            service.terminate()
        codes = {name: service.wait() for name, service in running.items()}
        gate.stop()
    assert set(codes.values()) == {0}, codes


def use(lab, running, tenant: str) -> dict:
    """An event, a payment and a message that cannot be stored; waits until each got where it belongs."""
    producer, payments, home = TENANTS[tenant]
    sqs, dynamodb = lab.aws.client("sqs"), lab.aws.client("dynamodb")
    url = sqs.get_queue_url(QueueName=f"consumer-{home}")["QueueUrl"]
    sqs.send_message(QueueUrl=url, MessageBody="nobody's")
    posted = request(running[producer, "producer"].url, b'{"event":"made"}', tenantID=tenant, content_type="application/json")
    paid = request(
        running[payments, "payments"].url, b'{"amount":"12.50","currency":"EUR","reference":"r"}',
        tenantID=tenant, content_type="application/json", Idempotency_Key=f"key-{tenant}",
    )  # fmt: skip

    def record(message_id: str):
        key = {"tenant_id": {"S": tenant}, "message_id": {"S": message_id}}
        return dynamodb.get_item(TableName=f"consumer-{home}", Key=key).get("Item")

    saw = {"posted": posted, "paid": paid}
    saw["record"] = until(f"{tenant}'s event is in consumer-{home}", lambda: record(posted[1]["message_id"]))
    payment = f"{running[payments, 'payments'].url}/{paid[1]['payment_id']}"
    saw["payment"] = until(f"{tenant}'s payment is recorded", lambda: (got := request(payment, tenantID=tenant))[1].get("state") == "recorded" and got)
    return saw


@pytest.mark.parametrize("tenant", TENANTS)
def test_an_event_and_a_payment_of_each_tier_land_where_its_parameters_say(plane, tenant):
    saw = plane[2][tenant]
    assert saw["posted"][0] == 200 and saw["paid"][0] == 202
    assert saw["record"]["body"] == {"S": '{"event":"made"}'}
    assert saw["payment"][0] == 200


def test_the_services_call_nothing_that_their_roles_refuse(plane):
    gate, _, _ = plane
    assert dict(gate.denied) == {}


def test_each_service_makes_exactly_the_calls_that_its_role_allows(plane):
    gate, running, _ = plane
    for environment, app in running:
        wanted = set(CALLS["services"][app]["always"])
        until(
            f"{app} of {environment} has made every call of {sorted(wanted)}",
            lambda role=f"{app}-role-{environment}", wanted=wanted: gate.allowed[role] >= wanted,
        )
        assert gate.allowed[f"{app}-role-{environment}"] == wanted


def test_the_queue_takes_the_largest_message_that_the_producer_sends_by_default(stories, lab):
    stories.hear("services_ground")
    described = subprocess.run([BINARIES / "producer", "--help"], capture_output=True, text=True, check=True).stdout
    largest = re.search(r"\[env: MAX_MESSAGE_BYTES\]\s+\[default: (\d+)\]", described).group(1)
    assert Account(lab.aws, "svc-premium").queue()["MaximumMessageSize"] == largest == "262144"
