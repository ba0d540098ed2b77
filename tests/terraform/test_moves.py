"""Tenants that change their tier, leave and come back: nothing that may hold data goes unasked."""

from lab import ACCOUNT, REGION
from readback import NOTHING

NO_CHANGE = "Apply complete! Resources: 0 added, 0 changed, 0 destroyed."


def test_a_move_to_the_pool_keeps_the_queue_and_table_with_what_they_hold(stories):
    saw = stories.hear("to_the_pool_and_gone")
    assert saw["moved_holds"] == {"messages": 1, "records": 1}
    # Three roles with their policies go; both parameters change; the pool's producer may still send what it has looked up.
    assert saw["moved"] == "Apply complete! Resources: 1 added, 2 changed, 6 destroyed."
    assert saw["moved_account"]["roles"] == {}
    assert saw["moved_account"]["parameters"] == {
        "/mover/consumer_sqs": f"arn:aws:sqs:{REGION}:{ACCOUNT}:consumer-pool-1",
        "/mover/consumer_ddb": f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/consumer-pool-1",
    }
    assert saw["second_apply"] == NO_CHANGE


def test_the_outputs_name_what_was_kept(stories):
    saw = stories.hear("to_the_pool_and_gone")
    assert saw["moved_outputs"]["kept"] == {
        "queue_url": saw["moved_account"]["queue"]["QueueUrl"],
        "dead_letter_url": saw["moved_account"]["dead_letter"]["QueueUrl"],
        "table_arn": f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/consumer-mover",
    }


def test_the_second_step_is_refused_while_the_tenant_is_registered_on_its_own_queue(stories):
    saw = stories.hear("to_the_pool_and_gone")
    assert "must not be true while enable_consumer is: remove it" in saw["drop_while_dedicated"]
    assert "mover is still registered on its own queue and table. Apply enable_consumer = false first" in saw["drop_with_the_flags"]


def test_the_second_step_is_refused_as_a_whole_while_the_table_is_protected(stories):
    saw = stories.hear("to_the_pool_and_gone")
    assert "The table consumer-mover is protected. Apply deletion_protection = false first" in saw["drop_while_protected"]
    assert saw["refused_holds"] == {"messages": 1, "records": 1}


def test_the_second_step_drops_queue_and_table_and_is_forgotten_after_it(stories):
    saw = stories.hear("to_the_pool_and_gone")
    assert saw["unprotected"] == "Apply complete! Resources: 0 added, 1 changed, 0 destroyed."
    assert saw["dropped"] == "Apply complete! Resources: 0 added, 0 changed, 5 destroyed."
    assert saw["dropped_holds"] == {"messages": None, "records": None}
    assert saw["dropped_resources"] == ["aws_ssm_parameter.queue", "aws_ssm_parameter.table"]
    assert saw["flag_removed"] == NO_CHANGE
    assert saw["destroyed"] == "Destroy complete! Resources: 2 destroyed."


def test_a_tenant_that_comes_back_from_the_pool_finds_its_queue_and_table(stories):
    saw = stories.hear("there_and_back")
    assert saw["holds"] == {"messages": 1, "records": 1}
    assert saw["parameters"]["/returner/consumer_sqs"] == f"arn:aws:sqs:{REGION}:{ACCOUNT}:consumer-returner"
    assert saw["kept"] == {"queue_url": "", "dead_letter_url": "", "table_arn": ""}
    # Its producer is dedicated now: the pool's may no longer send.
    assert saw["queue_policy"] is None
    assert saw["destroyed"] == "Destroy complete! Resources: 12 destroyed."


def test_a_tenant_can_be_onboarded_again_while_sqs_still_refuses_the_old_queues_name(stories):
    saw = stories.hear("away_and_back")
    assert saw["refusals"] >= 1
    assert saw["second"] == saw["first"] == "Apply complete! Resources: 9 added, 0 changed, 0 destroyed."
    assert saw["account"]["queue"]["RedrivePolicy"]["maxReceiveCount"] == 10
    assert saw["last"] == "Destroy complete! Resources: 9 destroyed."


def test_a_missing_or_unusable_pool_is_named_at_plan_time(stories):
    saw = stories.hear("no_pool")
    assert "early uses pool-9, but the parameter /pool-9/consumer_sqs holds nothing" in saw["absent"]
    assert "Apply the pool first, or correct pool_id." in saw["absent"]
    assert "/pool-8/consumer_sqs holds 'https://sqs.eu-west-1.amazonaws.com/1/q' instead of the ARN of a queue" in saw["not_an_arn"]
    assert f"holds 'arn:aws:sqs:us-east-1:{ACCOUNT}:consumer-pool-7' instead of the ARN of a queue in eu-west-1" in saw["other_region"]


def test_a_tenant_can_be_destroyed_after_its_pool(stories):
    saw = stories.hear("no_pool")
    assert saw["orphan_destroyed"] == "Destroy complete! Resources: 2 destroyed."
    assert saw["orphan_left"] == NOTHING
