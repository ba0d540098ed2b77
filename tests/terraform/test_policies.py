"""Policies and trust as they are in the account, word for word."""

import json
from pathlib import Path

import pytest
from lab import ACCOUNT, REGION
from stories import APPS, COMBINATIONS, combination_id

CALLS = json.loads(Path(__file__).with_name("calls.json").read_text())
POOL_QUEUE = f"arn:aws:sqs:{REGION}:{ACCOUNT}:consumer-pool-1"
POOL_TABLE = f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/consumer-pool-1"


def parameter(path: str) -> str:
    return f"arn:aws:ssm:{REGION}:{ACCOUNT}:parameter/{path}"


def statement(sid: str, actions, resources, **more) -> dict:
    return {"Sid": sid, "Effect": "Allow", "Action": actions, "Resource": resources, **more}


def policy(account: dict, app: str) -> list[dict]:
    """The statements of an app's only policy."""
    role = account["roles"][app]
    assert list(role["policies"]) == [app] and role["attached"] == []
    return role["policies"][app]["Statement"]


def as_list(value) -> list[str]:
    return [value] if isinstance(value, str) else value


def actions(statements: list[dict]) -> list[str]:
    return sorted(action for one in statements for action in as_list(one["Action"]))


def test_a_dedicated_tenants_roles_reach_that_tenants_resources_and_nothing_else(stories):
    account, tenant = stories.hear("producer-consumer-payments").account, "t-producer-consumer-payments"
    queue, table = f"arn:aws:sqs:{REGION}:{ACCOUNT}:consumer-{tenant}", f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/consumer-{tenant}"
    both = [parameter(f"{tenant}/consumer_sqs"), parameter(f"{tenant}/consumer_ddb")]
    assert policy(account, "producer") == [
        statement("FindQueue", "ssm:GetParameters", both[0]),
        statement("Send", "sqs:SendMessage", queue),
    ]
    assert policy(account, "consumer") == [
        statement("FindQueueAndTable", "ssm:GetParameters", both),
        statement("Drain", ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility"], queue),
        statement("Watch", "sqs:GetQueueAttributes", [f"{queue}-dlq", queue]),
        statement("Store", "dynamodb:BatchWriteItem", table),
    ]
    assert policy(account, "payments") == [
        statement("FindQueueAndTable", "ssm:GetParameters", both),
        statement("Send", "sqs:SendMessage", queue),
        statement("ClaimAndRead", ["dynamodb:PutItem", "dynamodb:GetItem"], table),
    ]


def test_a_pools_producer_and_payments_may_read_every_tenants_registration(stories):
    account = stories.pool_account
    every_registration = parameter("*/consumer_sqs")
    assert policy(account, "producer") == [
        statement("FindQueue", "ssm:GetParameters", every_registration),
        statement("Send", "sqs:SendMessage", POOL_QUEUE),
    ]
    assert policy(account, "payments") == [
        statement("FindQueueAndTable", "ssm:GetParameters", [parameter("pool-1/consumer_ddb"), every_registration]),
        statement("Send", "sqs:SendMessage", POOL_QUEUE),
        statement("ClaimAndRead", ["dynamodb:PutItem", "dynamodb:GetItem"], POOL_TABLE),
    ]
    assert policy(account, "consumer")[0]["Resource"] == [parameter("pool-1/consumer_sqs"), parameter("pool-1/consumer_ddb")]


def test_a_tenants_own_payments_on_the_pools_table_reaches_that_tenants_rows_only(stories):
    account = stories.hear("producer-payments").account
    rows = {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": "t-producer-payments"}}
    assert policy(account, "payments")[1:] == [
        statement("Send", "sqs:SendMessage", POOL_QUEUE),
        statement("ClaimAndRead", ["dynamodb:PutItem", "dynamodb:GetItem"], POOL_TABLE, Condition=rows),
    ]
    assert policy(account, "producer")[1] == statement("Send", "sqs:SendMessage", POOL_QUEUE)


@pytest.mark.parametrize("combination", COMBINATIONS, ids=combination_id)
def test_a_dedicated_queue_names_the_pools_producer_exactly_when_the_producer_is_pooled(stories, combination):
    producer, consumer, _ = combination
    if not consumer:
        assert stories.hear(combination_id(combination)).account["queue"] is None
        return
    queue = stories.hear(combination_id(combination)).account["queue"]
    sends = statement("PooledProducerSends", "sqs:SendMessage", queue["QueueArn"])
    sends["Principal"] = {"AWS": f"arn:aws:iam::{ACCOUNT}:role/producer-role-pool-1"}
    assert queue.get("Policy") == (None if producer else {"Version": "2012-10-17", "Statement": [sends]})


@pytest.mark.parametrize("combination", COMBINATIONS, ids=combination_id)
def test_each_role_allows_the_calls_that_its_service_makes_none_missing_and_none_unused(stories, combination):
    account = stories.hear(combination_id(combination)).account
    for app, on in zip(APPS, combination):
        granted = actions(policy(account, app)) if on else sorted(CALLS["services"][app]["always"])
        assert granted == sorted(CALLS["services"][app]["always"]), app


def test_reading_records_adds_the_query_and_nothing_else(stories):
    account = stories.hear("other_settings")["life"].account
    calls = CALLS["services"]["consumer"]
    assert actions(policy(account, "consumer")) == sorted(calls["always"] + calls["with"]["record_reads"])
    for app in ("producer", "payments"):
        assert actions(policy(account, app)) == sorted(CALLS["services"][app]["always"])


def test_a_call_made_only_when_another_is_denied_is_never_granted():
    for app, calls in CALLS["services"].items():
        granted = set(calls["always"]) | {call for more in calls["with"].values() for call in more}
        for fallback, refused in calls["when_denied"].items():
            assert fallback not in granted and refused in granted, (app, fallback)


def test_a_customer_key_adds_the_rights_that_sending_and_receiving_need(stories):
    saw = stories.hear("customer_key")
    account, key = saw["account"], saw["key"]
    assert policy(account, "consumer")[-1] == statement("Decrypt", "kms:Decrypt", key)
    assert policy(account, "payments")[-1] == statement("Encrypt", ["kms:GenerateDataKey", "kms:Decrypt"], key)
    (grant,) = saw["grants"]
    assert grant["GranteePrincipal"] == f"arn:aws:iam::{ACCOUNT}:role/producer-role-pool-1"
    assert sorted(grant["Operations"]) == ["Decrypt", "GenerateDataKey"]
    assert saw["grants_left"] == []


def token_trust(provider: str, tenant: str, app: str) -> dict:
    issuer = provider.split("oidc-provider/")[1]
    return {
        "Sid": "ServiceAccountToken",
        "Effect": "Allow",
        "Action": "sts:AssumeRoleWithWebIdentity",
        "Principal": {"Federated": provider},
        "Condition": {
            "StringEquals": {
                f"{issuer}:aud": "sts.amazonaws.com",
                f"{issuer}:sub": f"system:serviceaccount:{tenant}:{tenant}-{app}",
            }
        },
    }


def test_a_role_trusts_one_service_account_of_the_clusters_own_provider(stories, lab):
    tenant, account = "t-producer-consumer-payments", stories.hear("producer-consumer-payments").account
    for app in APPS:
        assert account["roles"][app]["trust"]["Statement"] == [token_trust(lab.oidc_provider_arn, tenant, app)]


def test_a_given_provider_is_trusted_without_looking_the_cluster_up(stories):
    saw = stories.hear("other_settings")
    given = f"arn:aws:iam::{ACCOUNT}:oidc-provider/oidc.example/id/X"
    trust = saw["life"].account["roles"]["consumer"]["trust"]["Statement"]
    assert trust == [token_trust(given, saw["tenant_id"], "consumer")]


def planned(plan: dict, address: str) -> dict:
    return next(one["values"] for one in plan["planned_values"]["root_module"]["resources"] if one["address"] == address)


def test_pod_identity_adds_a_trust_for_the_same_service_account_and_associates_the_role(stories):
    saw = stories.hear("pod_identity")
    pods = {
        "Sid": "PodIdentity",
        "Effect": "Allow",
        "Action": ["sts:TagSession", "sts:AssumeRole"],
        "Principal": {"Service": "pods.eks.amazonaws.com"},
        "Condition": {
            "StringEquals": {
                "aws:RequestTag/eks-cluster-arn": f"arn:aws:eks:{REGION}:{ACCOUNT}:cluster/eks-saas-gitops",
                "aws:RequestTag/kubernetes-namespace": "podded",
                "aws:RequestTag/kubernetes-service-account": "podded-payments",
            }
        },
    }
    trust = json.loads(planned(saw["both"], 'aws_iam_role.app["payments"]')["assume_role_policy"])["Statement"]
    assert [one["Sid"] for one in trust] == ["ServiceAccountToken", "PodIdentity"]
    assert trust[1] == pods
    association = planned(saw["both"], 'aws_eks_pod_identity_association.app["payments"]')
    assert (association["cluster_name"], association["namespace"], association["service_account"]) == (
        "eks-saas-gitops", "podded", "podded-payments",
    )  # fmt: skip
    only = json.loads(planned(saw["only"], 'aws_iam_role.app["producer"]')["assume_role_policy"])["Statement"]
    assert [one["Sid"] for one in only] == ["PodIdentity"]


def test_a_role_that_nobody_could_take_on_is_refused(stories):
    assert "Nobody could take on the role producer-role-podnone: set enable_irsa or enable_pod_identity." in stories.hear("pod_identity")["none"]


def test_a_chinese_region_gives_chinese_arns_everywhere(stories):
    saw = stories.hear("china")
    for account in (saw["pool"], saw["tenant"].account):
        assert "arn:aws:" not in json.dumps(account, default=str)
    roles = saw["tenant"].account["roles"]
    assert roles["consumer"]["arn"] == f"arn:aws-cn:iam::{ACCOUNT}:role/consumer-role-acme-cn"
    assert roles["consumer"]["trust"]["Statement"] == [token_trust(saw["provider"], "acme-cn", "consumer")]
    assert saw["tenant"].outputs["consumer"]["irsa_role"] == roles["consumer"]["arn"]
    assert policy(saw["pool"], "producer")[0]["Resource"] == f"arn:aws-cn:ssm:cn-northwest-1:{ACCOUNT}:parameter/*/consumer_sqs"
    sender = saw["tenant"].account["queue"]["Policy"]["Statement"][0]["Principal"]["AWS"]
    assert sender == f"arn:aws-cn:iam::{ACCOUNT}:role/producer-role-pool-1"
