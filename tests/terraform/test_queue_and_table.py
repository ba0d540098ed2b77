"""Settings of the queue, its dead-letter queue and the table, as the account has them."""

from lab import ACCOUNT, REGION

TENANT = "t-producer-consumer-payments"


def dedicated(stories) -> dict:
    return stories.hear("producer-consumer-payments").account


def test_the_queue_has_the_settings_that_the_services_count_on(stories):
    queue = dedicated(stories)["queue"]
    assert (queue["VisibilityTimeout"], queue["ReceiveMessageWaitTimeSeconds"]) == ("30", "20")
    assert queue["MaximumMessageSize"] == "262144"
    assert queue["MessageRetentionPeriod"] == str(4 * 24 * 3600)
    assert queue["SqsManagedSseEnabled"] == "true" and "KmsMasterKeyId" not in queue


def test_ten_receives_carry_a_message_to_a_dead_letter_queue_that_keeps_it_for_14_days(stories):
    account = dedicated(stories)
    assert account["queue"]["RedrivePolicy"] == {
        "deadLetterTargetArn": f"arn:aws:sqs:{REGION}:{ACCOUNT}:consumer-{TENANT}-dlq",
        "maxReceiveCount": 10,
    }
    dead_letter = account["dead_letter"]
    assert dead_letter["MessageRetentionPeriod"] == str(14 * 24 * 3600)
    assert dead_letter["MaximumMessageSize"] == account["queue"]["MaximumMessageSize"]
    assert dead_letter["SqsManagedSseEnabled"] == "true"


def test_only_the_tenants_queue_may_use_its_dead_letter_queue(stories):
    assert dedicated(stories)["dead_letter"]["RedriveAllowPolicy"] == {
        "redrivePermission": "byQueue",
        "sourceQueueArns": [f"arn:aws:sqs:{REGION}:{ACCOUNT}:consumer-{TENANT}"],
    }


def test_the_table_is_on_demand_restorable_and_expires_records(stories):
    table = dedicated(stories)["table"]
    assert table["KeySchema"] == [
        {"AttributeName": "tenant_id", "KeyType": "HASH"},
        {"AttributeName": "message_id", "KeyType": "RANGE"},
    ]
    assert {one["AttributeName"]: one["AttributeType"] for one in table["AttributeDefinitions"]} == {"tenant_id": "S", "message_id": "S"}
    assert table["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    assert table["PointInTimeRecovery"] == "ENABLED"
    assert table["TTL"] == {"TimeToLiveStatus": "ENABLED", "AttributeName": "expires_at"}


def test_a_protected_table_outlasts_a_destroy_until_the_protection_is_taken_off(stories):
    saw = stories.hear("protected")
    assert saw["table"]["DeletionProtectionEnabled"] is True
    assert "consumer-vault" in saw["refused"] and "protect" in saw["refused"]
    assert saw["left"] == {"queue": None, "dead_letter": None, "table": None, "parameters": {}, "roles": {}}


def test_every_setting_can_be_another_than_its_default(stories):
    account = stories.hear("other_settings")["life"].account
    queue, dead_letter = account["queue"], account["dead_letter"]
    assert (queue["MaximumMessageSize"], dead_letter["MaximumMessageSize"]) == ("131072", "131072")
    assert (queue["VisibilityTimeout"], queue["MessageRetentionPeriod"]) == ("60", "86400")


def test_the_longest_tenant_id_fits_every_name(stories):
    saw = stories.hear("other_settings")
    tenant, account = saw["tenant_id"], saw["life"].account
    assert len(tenant) == 40
    assert account["roles"]["consumer"]["arn"].endswith(f":role/consumer-role-{tenant}")
    assert account["dead_letter"]["QueueArn"].endswith(f":consumer-{tenant}-dlq")


def test_a_customer_key_encrypts_both_queues(stories):
    saw = stories.hear("customer_key")
    for queue in ("queue", "dead_letter"):
        assert saw["account"][queue]["KmsMasterKeyId"] == saw["key"]
    assert saw["second_apply"] == "Apply complete! Resources: 0 added, 0 changed, 0 destroyed."
