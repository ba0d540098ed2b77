"""What each combination of flags makes, asked of the account, and that it all goes again."""

import pytest
from lab import ACCOUNT, REGION
from readback import NOTHING
from readme import counts as readme_counts
from stories import APPS, COMBINATIONS, combination_id, refusal

NO_CHANGE = "Apply complete! Resources: 0 added, 0 changed, 0 destroyed."
POOL_PARAMETERS = {
    "consumer_sqs": f"arn:aws:sqs:{REGION}:{ACCOUNT}:consumer-pool-1",
    "consumer_ddb": f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/consumer-pool-1",
}
every_combination = pytest.mark.parametrize("combination", COMBINATIONS, ids=combination_id)


def expected_resources(producer: bool, consumer: bool, payments: bool) -> list[str]:
    made = ["aws_ssm_parameter.queue", "aws_ssm_parameter.table"]
    for app, on in zip(APPS, (producer, consumer, payments)):
        if on:
            made += [f'aws_iam_role.app["{app}"]', f'aws_iam_role_policy.app["{app}"]']
    if consumer:
        made += ["aws_sqs_queue.consumer[0]", "aws_sqs_queue.dead_letter[0]", "aws_sqs_queue_redrive_allow_policy.dead_letter[0]"]
        made += ["aws_dynamodb_table.consumer[0]"]
        if not producer:
            made += ["aws_sqs_queue_policy.consumer[0]"]
    return sorted(made)


@every_combination
def test_a_combination_makes_the_resources_that_the_readme_counts(stories, combination):
    life = stories.hear(combination_id(combination))
    assert life.resources == expected_resources(*combination)
    assert life.closing == f"Apply complete! Resources: {readme_counts()[combination]} added, 0 changed, 0 destroyed."


@every_combination
def test_a_second_apply_changes_nothing(stories, combination):
    assert stories.hear(combination_id(combination)).second_apply == NO_CHANGE


@every_combination
def test_destroying_leaves_nothing_in_the_account(stories, combination):
    life = stories.hear(combination_id(combination))
    assert life.destroyed == f"Destroy complete! Resources: {readme_counts()[combination]} destroyed."
    assert life.left == NOTHING


@every_combination
def test_the_parameters_hold_the_tenants_own_arns_or_the_pools(stories, combination):
    tenant = f"t-{combination_id(combination)}"
    own = {
        "consumer_sqs": f"arn:aws:sqs:{REGION}:{ACCOUNT}:consumer-{tenant}",
        "consumer_ddb": f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/consumer-{tenant}",
    }
    _, consumer, _ = combination
    expected = own if consumer else POOL_PARAMETERS
    account = stories.hear(combination_id(combination)).account
    assert account["parameters"] == {f"/{tenant}/{name}": value for name, value in expected.items()}


@every_combination
def test_only_a_dedicated_consumer_brings_a_queue_and_a_table(stories, combination):
    _, consumer, _ = combination
    account = stories.hear(combination_id(combination)).account
    assert [account[name] is not None for name in ("queue", "dead_letter", "table")] == [consumer] * 3


@every_combination
def test_the_outputs_name_the_role_of_each_dedicated_app_and_are_empty_for_the_others(stories, combination):
    tenant, outputs = f"t-{combination_id(combination)}", stories.hear(combination_id(combination)).outputs
    for app, on in zip(APPS, combination):
        assert outputs[app] == {"irsa_role": f"arn:aws:iam::{ACCOUNT}:role/{app}-role-{tenant}" if on else ""}
    assert sorted(stories.hear(combination_id(combination)).account["roles"]) == sorted(app for app, on in zip(APPS, combination) if on)


def test_the_outputs_say_which_queue_and_table_are_in_use(stories):
    dedicated = stories.hear("producer-consumer-payments")
    queue = dedicated.account["queue"]
    assert dedicated.outputs["queue"] == {
        "arn": f"arn:aws:sqs:{REGION}:{ACCOUNT}:consumer-t-producer-consumer-payments",
        "dedicated": True,
        "url": queue["QueueUrl"],
        "dead_letter_arn": f"arn:aws:sqs:{REGION}:{ACCOUNT}:consumer-t-producer-consumer-payments-dlq",
        "dead_letter_url": dedicated.account["dead_letter"]["QueueUrl"],
    }
    pooled = stories.hear("all-pooled")
    assert pooled.outputs["queue"] == {
        "arn": POOL_PARAMETERS["consumer_sqs"], "dedicated": False, "url": "", "dead_letter_arn": "", "dead_letter_url": "",
    }  # fmt: skip
    assert pooled.outputs["table"] == {"arn": POOL_PARAMETERS["consumer_ddb"], "dedicated": False}


def test_a_pool_makes_what_a_fully_dedicated_tenant_makes(stories):
    assert stories.pool_closing == "Apply complete! Resources: 12 added, 0 changed, 0 destroyed."
    assert stories.pool_account["parameters"] == {f"/pool-1/{name}": value for name, value in POOL_PARAMETERS.items()}


def test_a_pool_without_a_consumer_is_refused(lab):
    words = "pool-3 is a pool: its queue and table are what pooled tenants share, so enable_consumer must be true."
    assert words in refusal(lambda: lab.environment("pool-3", enable_producer=True).plan())


def test_the_variables_rules_hold_for_the_whole_module(lab):
    words = refusal(lambda: lab.environment("Acme_Corp").plan())
    assert "tenant_id must be 1 to 40 characters, small letters a-z, digits and dashes" in words
