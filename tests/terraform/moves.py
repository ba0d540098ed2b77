"""Stories of tenants that change: between tiers, away and back."""

from lab import Lab
from readback import Account
from stories import flags, refusal

DEDICATED = flags("producer", "consumer", "payments")
POOLED = flags()


def _put_something(lab: Lab, tenant_id: str) -> None:
    account = Account(lab.aws, tenant_id)
    lab.aws.client("sqs").send_message(QueueUrl=account.queue()["QueueUrl"], MessageBody='{"event":"kept"}')
    lab.aws.client("dynamodb").put_item(
        TableName=f"consumer-{tenant_id}", Item={"tenant_id": {"S": tenant_id}, "message_id": {"S": "m-1"}, "body": {"S": "kept"}}
    )


def _holds(lab: Lab, tenant_id: str) -> dict:
    """How many messages and records the tenant's own queue and table hold; None where there is none."""
    account = Account(lab.aws, tenant_id)
    queue, table = account.queue(), account.table()
    return {
        "messages": queue and int(queue["ApproximateNumberOfMessages"]),
        "records": table and lab.aws.client("dynamodb").scan(TableName=table["TableName"], Select="COUNT")["Count"],
    }


def to_the_pool_and_gone(lab: Lab) -> dict:
    """Premium to basic, and then the explicit second step, with every wrong order of it tried."""
    tenant, account = lab.environment("mover", **DEDICATED), Account(lab.aws, "mover")
    saw = {"dropping_at_once": None, "premium": tenant.apply(deletion_protection=True)}
    _put_something(lab, "mover")
    saw["drop_while_dedicated"] = refusal(lambda: tenant.plan(drop_dedicated_resources=True))
    saw["drop_with_the_flags"] = refusal(lambda: tenant.plan(**POOLED, drop_dedicated_resources=True))
    saw["moved"] = tenant.apply(drop_dedicated_resources=False)
    saw["moved_account"] = account.everything()
    saw["moved_outputs"] = tenant.outputs()
    saw["moved_resources"] = tenant.resources()
    saw["moved_holds"] = _holds(lab, "mover")
    saw["second_apply"] = tenant.apply()
    saw["drop_while_protected"] = refusal(lambda: tenant.plan(drop_dedicated_resources=True))
    saw["refused_holds"] = _holds(lab, "mover")
    saw["unprotected"] = tenant.apply(drop_dedicated_resources=False, deletion_protection=False)
    saw["dropped"] = tenant.apply(drop_dedicated_resources=True)
    saw["dropped_holds"] = _holds(lab, "mover")
    saw["dropped_resources"] = tenant.resources()
    saw["flag_removed"] = tenant.apply(drop_dedicated_resources=False)
    saw["destroyed"] = tenant.destroy()
    return saw


def there_and_back(lab: Lab) -> dict:
    """Advanced to basic and back to premium: the same queue and table all the way."""
    tenant, account = lab.environment("returner", **flags("consumer", "payments")), Account(lab.aws, "returner")
    saw = {"advanced": tenant.apply()}
    _put_something(lab, "returner")
    saw["basic"] = tenant.apply(**POOLED)
    saw["premium"] = tenant.apply(**DEDICATED)
    saw["holds"] = _holds(lab, "returner")
    saw["parameters"] = account.parameters()
    saw["queue_policy"] = account.queue().get("Policy")
    saw["kept"] = tenant.outputs()["kept"]
    saw["destroyed"] = tenant.destroy()
    return saw


def away_and_back(lab: Lab) -> dict:
    """Offboarded, and onboarded again while SQS still refuses the queue's name."""
    tenant, account = lab.environment("again", **flags("consumer")), Account(lab.aws, "again")
    saw = {"first": tenant.apply(), "destroyed": tenant.destroy()}
    saw["second"] = tenant.apply()
    saw["refusals"] = lab.aws.refusals("consumer-again") + lab.aws.refusals("consumer-again-dlq")
    saw["account"] = account.everything()
    saw["last"] = tenant.destroy()
    return saw


def protected(lab: Lab) -> dict:
    """Destroying a tenant whose table is protected."""
    tenant, account = lab.environment("vault", **flags("consumer")), Account(lab.aws, "vault")
    tenant.apply(deletion_protection=True)
    saw = {"refused": refusal(tenant.destroy), "table": account.table()}
    tenant.variables["deletion_protection"] = False
    saw["unprotected"] = tenant.apply()
    saw["destroyed"] = tenant.destroy()
    saw["left"] = account.everything()
    return saw


STORIES = {story.__name__: story for story in (to_the_pool_and_gone, there_and_back, away_and_back, protected)}
