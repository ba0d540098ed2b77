"""What the custom resources of the chart may look like: the fields that it uses, with the types that the controllers read."""

import jsonschema

STRINGS = {"type": "object", "additionalProperties": {"type": "string"}}
DURATION = {"type": "string", "pattern": r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$"}
NAME = {"type": "string", "minLength": 1}


def record(required: dict, optional: dict | None = None) -> dict:
    """An object that has all of these, may have those, and nothing else."""
    return {
        "type": "object",
        "required": list(required),
        "properties": {**required, **(optional or {})},
        "additionalProperties": False,
    }


METADATA = record({"name": {**NAME, "maxLength": 253}, "namespace": NAME, "labels": STRINGS}, {"annotations": STRINGS})

TERRAFORM = record({
    "path": NAME,
    "interval": DURATION,
    "destroyResourcesOnDeletion": {"type": "boolean"},
    "sourceRef": record({"kind": {"enum": ["GitRepository", "Bucket", "OCIRepository"]}, "name": NAME}, {"namespace": NAME}),
    "vars": {"type": "array", "minItems": 1, "items": record({"name": NAME, "value": {"not": {"type": "null"}}})},
    "writeOutputsToSecret": record({"name": NAME}),
}, {"approvePlan": NAME})

POD_MONITOR = record({
    "selector": record({"matchLabels": STRINGS}),
    "podMetricsEndpoints": {
        "type": "array", "minItems": 1, "items": record({"port": NAME, "path": {"type": "string", "pattern": "^/"}, "interval": DURATION}),
    },
}, {"podTargetLabels": {"type": "array", "items": NAME}})

PROMETHEUS_RULE = record({
    "groups": {
        "type": "array", "minItems": 1, "items": record({
            "name": NAME,
            "rules": {
                "type": "array", "minItems": 1,
                "items": record({"alert": NAME, "expr": NAME, "labels": STRINGS, "annotations": STRINGS}, {"for": DURATION}),
            },
        }),
    },
})

COUNT = {"type": "integer", "minimum": 0}
SCALED_OBJECT = record({
    "scaleTargetRef": record({"apiVersion": {"const": "apps/v1"}, "kind": {"const": "Deployment"}, "name": NAME}),
    "triggers": {
        "type": "array", "minItems": 1, "items": record(
            # KEDA takes nothing but strings here.
            {"type": {"const": "aws-sqs-queue"}, "metadata": {**STRINGS, "required": ["queueURL", "queueLength", "awsRegion"]}},
            {"authenticationRef": record({"name": NAME}, {"kind": {"enum": ["TriggerAuthentication", "ClusterTriggerAuthentication"]}})},
        ),
    },
}, {name: COUNT for name in ("pollingInterval", "cooldownPeriod", "minReplicaCount", "maxReplicaCount")})

KINDS = {
    ("infra.contrib.fluxcd.io/v1alpha2", "Terraform"): TERRAFORM,
    ("monitoring.coreos.com/v1", "PodMonitor"): POD_MONITOR,
    ("monitoring.coreos.com/v1", "PrometheusRule"): PROMETHEUS_RULE,
    ("keda.sh/v1alpha1", "ScaledObject"): SCALED_OBJECT,
}


def known(obj: dict) -> bool:
    return (obj["apiVersion"], obj["kind"]) in KINDS


def validate(obj: dict) -> None:
    spec = KINDS[obj["apiVersion"], obj["kind"]]
    schema = record({"apiVersion": {}, "kind": {}, "metadata": METADATA, "spec": spec})
    jsonschema.Draft202012Validator(schema).validate(obj)
