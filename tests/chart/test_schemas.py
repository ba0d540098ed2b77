"""Every object that the chart can render, against the schemas of Kubernetes 1.29 to the newest that the validator knows."""

import copy

import jsonschema
import kubernetes_validate
import pytest

import crds
from conftest import TIERS, acme, tier

NEWEST = int(kubernetes_validate.latest_version().split(".")[1])
VERSIONS = [f"1.{minor}" for minor in range(29, NEWEST + 1)]
QUEUE = "https://sqs.eu-west-1.amazonaws.com/123456789012/consumer-acme"

# Everything that the chart can make at once, and each optional value filled.
FULL_APP = {
    "imagePullSecrets": ["pull"],
    "podAnnotations": {"a": 1},
    "podLabels": {"team": "x"},
    "priorityClassName": "high",
    "resources": {"limits": {"cpu": 1, "memory": "256Mi", "ephemeral-storage": "1Gi"}},
    "extraEnv": [{"name": "SECRET", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k", "optional": True}}}],
    "extraVolumes": [{"name": "tmp", "emptyDir": {"sizeLimit": "10Mi"}}],
    "extraVolumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],
    "settings": {"A": 1, "B": True, "C": 0.5, "D": "x"},
    "topologySpreadConstraints": [{"topologyKey": "zone", "maxSkew": 2, "whenUnsatisfiable": "DoNotSchedule", "minDomains": 2}],
    "podSecurityContext": {"fsGroupChangePolicy": "OnRootMismatch", "supplementalGroups": [1000]},
    "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"a": "b"}}}]}},
    "ingress": {"enabled": True, "tls": [{"hosts": ["api.example.com"], "secretName": "tls"}], "annotations": {"example.com/a": True}},
    "probes": {"readiness": {"initialDelaySeconds": 3, "port": 9090}},
    "podDisruptionBudget": {"minAvailable": "50%"},
    "rollout": {"maxSurge": "25%", "maxUnavailable": 1},
}
FULL = {
    "tenantId": "acme",
    "awsAccountId": "123456789012",
    "awsRegion": "eu-west-1",
    "commonLabels": {"cost": 7},
    "commonAnnotations": {"example.com/owner": "team"},
    "global": {"nodeSelector": {"disk": "ssd"}, "tolerations": [{"key": "spot", "operator": "Equal", "value": "true", "effect": "NoExecute", "tolerationSeconds": 60}]},
    "infra": {"vars": {"cluster_name": "c", "tags": {"a": "b"}}},
    "loadBalancer": {"listenPorts": [{"HTTP": 80}, {"HTTPS": 443}], "certificateArns": ["arn:aws:acm:eu-west-1:123456789012:certificate/a"], "sslRedirectPort": 443},
    "networkPolicy": {
        "extraIngress": [{"from": [{"namespaceSelector": {}}], "ports": [{"port": "http"}]}],
        "extraEgress": [{"to": [{"podSelector": {}}], "ports": [{"port": 4317, "endPort": 4318}]}],
    },
    "podMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
    "alerts": {"enabled": True, "labels": {"release": "prometheus"}, "runbookUrl": "https://example.com/runbook"},
    "dashboard": {"enabled": True, "namespace": "monitoring", "annotations": {"grafana_folder": "Tenants"}},
    "telemetry": {"otlp": {"endpoint": "http://collector:4318", "namespace": "monitoring"}},
    "resourceQuota": {"enabled": True},
    "limitRange": {"enabled": True},
    "appDefaults": FULL_APP,
    "apps": {
        "producer": {"autoscaling": {"enabled": True, "targetMemoryUtilizationPercentage": 80, "behavior": {"scaleDown": {"stabilizationWindowSeconds": 60}}}},
        "consumer": {"keda": {"enabled": True, "queueURL": QUEUE, "minReplicas": 2, "authenticationRef": {"name": "sqs"}}},
        "payments": {"enabled": True, "ingress": {"enabled": True}},
        "reports": {"enabled": False, "envId": "pool-1"},
    },
}
LONGEST = "a" + "b" * 38 + "c"
RELEASES = {
    **{name: tier(name) for name in TIERS},
    "full": (FULL, {}),
    "smallest": (acme(), {"release": "smallest", "namespace": "default"}),
    "longest": ({**FULL, "tenantId": LONGEST}, {"release": f"{LONGEST}-advanced", "namespace": LONGEST}),
    "full pool": (
        {
            **FULL,
            "tenantId": "pool-1",
            "appDefaults": {**FULL_APP, "ingress": {}},
            "apps": {"payments": {"enabled": True, "ingress": {"enabled": False}}, "consumer": FULL["apps"]["consumer"]},
        },
        {"release": "pool-1", "namespace": "pool-1"},
    ),
}


def validate(obj: dict, version: str) -> None:
    if crds.known(obj):
        crds.validate(obj)
    else:
        kubernetes_validate.validate(obj, version, strict=True)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", RELEASES)
def test_every_object_is_valid_on_every_kubernetes_from_1_29_on(helm4, helm3, name, version):
    values, where = RELEASES[name]
    objects = helm4.objects(values, "--kube-version", version, tests=True, **where)
    assert len(objects) >= 5
    # What both helms render alike is looked at once.
    for obj in objects + [o for o in helm3.objects(values, "--kube-version", version, tests=True, **where) if o not in objects]:
        validate(obj, version)


def test_the_versions_reach_from_1_29_to_the_newest():
    assert VERSIONS[0] == "1.29" and len(VERSIONS) >= 9


def test_the_full_release_has_every_kind_that_the_chart_can_make(helm):
    kinds = {o["kind"] for o in helm.objects(FULL, tests=True)}
    assert kinds == {
        "Deployment", "Service", "Ingress", "HorizontalPodAutoscaler", "ServiceAccount", "Terraform", "PodDisruptionBudget",
        "NetworkPolicy", "PodMonitor", "PrometheusRule", "ConfigMap", "ScaledObject", "ResourceQuota", "LimitRange", "Pod",
    }


def damaged(objects):
    """Each object with a key that nobody knows in its spec, and each with a number where text belongs."""
    for obj in objects:
        unknown = copy.deepcopy(obj)
        unknown.setdefault("spec", unknown if "spec" not in unknown else {})["unknownKey"] = 1
        yield unknown
        number = copy.deepcopy(obj)
        number["metadata"]["labels"]["number"] = 5
        yield number


def test_the_validators_refuse_what_is_wrong(helm4):
    """Of every kind: without this, a validator that finds no schema would pass everything."""
    objects = helm4.objects(FULL, tests=True)
    seen = 0
    for obj in damaged(o for o in objects if o["kind"] != "ServiceAccount"):
        seen += 1
        with pytest.raises((kubernetes_validate.ValidationError, jsonschema.ValidationError)):
            validate(obj, "1.29")
    assert seen > 40
