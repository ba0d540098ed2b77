"""What is in the account for one environment, asked of AWS itself and not of Terraform."""

import json
from dataclasses import dataclass

from lab import REGION, StandIn

APPS = ("producer", "consumer", "payments")


@dataclass
class Account:
    aws: StandIn
    tenant_id: str
    region: str = REGION

    def _client(self, service: str):
        return self.aws.client(service, self.region)

    def _found(self, call, missing: tuple[str, ...]):
        try:
            return call()
        except Exception as error:
            if type(error).__name__ in missing:
                return None
            raise

    def queue(self, suffix: str = "") -> dict | None:
        """Attributes of the environment's queue (suffix -dlq: its dead-letter queue), its policies as objects."""
        sqs = self._client("sqs")
        found = self._found(lambda: sqs.get_queue_url(QueueName=f"consumer-{self.tenant_id}{suffix}"), ("QueueDoesNotExist",))
        if found is None:
            return None
        attributes = sqs.get_queue_attributes(QueueUrl=found["QueueUrl"], AttributeNames=["All"])["Attributes"]
        for name in ("Policy", "RedrivePolicy", "RedriveAllowPolicy"):
            if attributes.get(name):
                attributes[name] = json.loads(attributes[name])
        return {**attributes, "QueueUrl": found["QueueUrl"]}

    def table(self) -> dict | None:
        """The table's description, with its TTL and its continuous backups."""
        dynamodb, name = self._client("dynamodb"), f"consumer-{self.tenant_id}"
        found = self._found(lambda: dynamodb.describe_table(TableName=name)["Table"], ("ResourceNotFoundException",))
        if found is None:
            return None
        backups = dynamodb.describe_continuous_backups(TableName=name)["ContinuousBackupsDescription"]
        return {
            **found,
            "TTL": dynamodb.describe_time_to_live(TableName=name)["TimeToLiveDescription"],
            "PointInTimeRecovery": backups["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"],
        }

    def parameters(self) -> dict[str, str]:
        """Every parameter below the environment's path."""
        found = self._client("ssm").get_parameters_by_path(Path=f"/{self.tenant_id}", Recursive=True)["Parameters"]
        return {parameter["Name"]: parameter["Value"] for parameter in found}

    def roles(self) -> dict[str, dict]:
        """By app: the role's ARN, trust policy, inline policies by name, and the names of attached ones."""
        iam, roles = self._client("iam"), {}
        for app in APPS:
            name = f"{app}-role-{self.tenant_id}"
            found = self._found(lambda name=name: iam.get_role(RoleName=name)["Role"], ("NoSuchEntityException",))
            if found is None:
                continue
            inline = iam.list_role_policies(RoleName=name)["PolicyNames"]
            roles[app] = {
                "arn": found["Arn"],
                "trust": found["AssumeRolePolicyDocument"],
                "policies": {policy: iam.get_role_policy(RoleName=name, PolicyName=policy)["PolicyDocument"] for policy in inline},
                "attached": [policy["PolicyName"] for policy in iam.list_attached_role_policies(RoleName=name)["AttachedPolicies"]],
            }
        return roles

    def everything(self) -> dict:
        return {
            "queue": self.queue(),
            "dead_letter": self.queue("-dlq"),
            "table": self.table(),
            "parameters": self.parameters(),
            "roles": self.roles(),
        }


NOTHING = {"queue": None, "dead_letter": None, "table": None, "parameters": {}, "roles": {}}
