"""Stories of the same module in other surroundings: partitions, keys, identities, pools that are not there."""

from concurrent.futures import ThreadPoolExecutor

from lab import ACCOUNT, Lab
from readback import Account
from stories import APPS, flags, live, refusal


def china(lab: Lab) -> dict:
    """A pool and an advanced tenant in the partition aws-cn."""
    region = "cn-northwest-1"
    provider = lab.aws.make_cluster(region, "aws-cn")
    pool = lab.environment("pool-1", region, **flags(*APPS))
    pool.apply()
    tenant = live(lab, lab.environment("acme-cn", region, **flags("consumer", "payments")))
    saw = {"provider": provider, "pool": Account(lab.aws, "pool-1", region).everything(), "tenant": tenant}
    pool.destroy()
    return saw


def customer_key(lab: Lab) -> dict:
    """An advanced tenant whose queue is encrypted with a key of the account."""
    kms = lab.aws.client("kms")
    key = kms.create_key(Description="queues")["KeyMetadata"]["Arn"]
    tenant = lab.environment("sealed", **flags("consumer", "payments"), queue_kms_key_arn=key)
    tenant.apply()
    saw = {"key": key, "account": Account(lab.aws, "sealed").everything(), "grants": kms.list_grants(KeyId=key)["Grants"]}
    saw["second_apply"] = tenant.apply()
    tenant.destroy()
    saw["grants_left"] = kms.list_grants(KeyId=key)["Grants"]
    return saw


def other_settings(lab: Lab) -> dict:
    """Every setting of queue and table another than its default, and the longest tenant id."""
    longest = "a234567890123456789012345678901234567890"
    tenant = lab.environment(
        longest, **flags(*APPS), record_reads=True, max_message_bytes=131072, visibility_timeout_seconds=60,
        message_retention_seconds=86400, tags={"team": "payments"}, oidc_provider_arn=f"arn:aws:iam::{ACCOUNT}:oidc-provider/oidc.example/id/X",
    )  # fmt: skip
    return {"tenant_id": longest, "life": live(lab, tenant)}


def no_pool(lab: Lab) -> dict:
    """Pools that are absent, half made, or gone before their tenant."""
    ssm = lab.aws.client("ssm")
    saw = {"absent": refusal(lambda: lab.environment("early", pool_id="pool-9").plan())}
    ssm.put_parameter(Name="/pool-8/consumer_sqs", Value="https://sqs.eu-west-1.amazonaws.com/1/q", Type="String")
    saw["not_an_arn"] = refusal(lambda: lab.environment("wrong", pool_id="pool-8").plan())
    for name, value in (("sqs", "consumer-pool-7"), ("dynamodb", "table/consumer-pool-7")):
        parameter = {"sqs": "consumer_sqs", "dynamodb": "consumer_ddb"}[name]
        ssm.put_parameter(Name=f"/pool-7/{parameter}", Value=f"arn:aws:{name}:us-east-1:{ACCOUNT}:{value}", Type="String")
    saw["other_region"] = refusal(lambda: lab.environment("abroad", pool_id="pool-7").plan())
    for name, value in (("sqs", "consumer-pool-6"), ("dynamodb", "table/consumer-pool-6")):
        parameter = {"sqs": "consumer_sqs", "dynamodb": "consumer_ddb"}[name]
        ssm.put_parameter(Name=f"/pool-6/{parameter}", Value=f"arn:aws:{name}:eu-west-1:{ACCOUNT}:{value}", Type="String")
    orphan = lab.environment("orphan", pool_id="pool-6")
    orphan.apply()
    ssm.delete_parameters(Names=["/pool-6/consumer_sqs", "/pool-6/consumer_ddb"])
    saw["orphan_destroyed"] = orphan.destroy()
    saw["orphan_left"] = Account(lab.aws, "orphan").everything()
    return saw


def pod_identity(lab: Lab) -> dict:
    """Plans alone, since moto knows no Pod Identity associations."""
    both = lab.environment("podded", **flags(*APPS), enable_pod_identity=True)
    only = lab.environment("podonly", **flags("producer"), enable_pod_identity=True, enable_irsa=False)
    none = lab.environment("podnone", **flags("producer"), enable_irsa=False)
    return {"both": both.plan(), "only": only.plan(), "none": refusal(none.plan)}


def services_ground(lab: Lab) -> list[str]:
    """A tenant of each tier that stays, for the services to run on."""
    tiers = {"svc-basic": (), "svc-basic-pay": ("payments",), "svc-advanced": ("consumer", "payments"), "svc-premium": APPS}
    environments = [lab.environment(tenant, **flags(*apps)) for tenant, apps in tiers.items()]
    with ThreadPoolExecutor() as side_by_side:
        return list(side_by_side.map(lambda environment: environment.apply(), environments))


WITHOUT_POOL = {story.__name__: story for story in (china, other_settings, no_pool)}
WITH_POOL = {story.__name__: story for story in (services_ground, customer_key, pod_identity)}
