"""What surrounds the pods: network, quotas, monitors, and the object that Terraform works from."""

import json

import pytest

from conftest import TIERS, acme, producer, tier

DNS = {"ports": [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}]}
AWS = {"to": [{"ipBlock": {"cidr": "0.0.0.0/0"}}, {"ipBlock": {"cidr": "::/0"}}], "ports": [{"port": 443, "protocol": "TCP"}]}
POD_IDENTITY = {
    "to": [{"ipBlock": {"cidr": "169.254.170.23/32"}}, {"ipBlock": {"cidr": "fd00:ec2::23/128"}}],
    "ports": [{"port": 80, "protocol": "TCP"}],
}


def test_a_pod_is_reached_by_the_load_balancer_and_by_monitoring_and_reaches_aws(helm):
    objects = helm.objects(acme(networkPolicy={"ingressCIDRs": ["10.1.0.0/24", "10.1.1.0/24"], "monitoringNamespace": "obs"}))
    spec = objects.one("NetworkPolicy", "acme-producer")["spec"]
    assert spec["podSelector"] == objects.one("Deployment", "acme-producer")["spec"]["selector"]
    assert spec["policyTypes"] == ["Ingress", "Egress"]
    http, admin = spec["ingress"]
    assert [c["ipBlock"]["cidr"] for c in http["from"] if "ipBlock" in c] == ["10.1.0.0/24", "10.1.1.0/24"]
    assert http["ports"] == [{"port": 8080, "protocol": "TCP"}, {"port": 80, "protocol": "TCP"}]
    assert admin == {
        "from": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "obs"}}}],
        "ports": [{"port": 9090, "protocol": "TCP"}],
    }
    assert spec["egress"] == [DNS, AWS, POD_IDENTITY]


def test_no_caller_means_no_rule_and_never_everyone(helm):
    values = {**producer(ingress={"enabled": False}), "networkPolicy": {"ingressCIDRs": [], "httpsCIDRs": []}}
    spec = helm.objects(values).one("NetworkPolicy")["spec"]
    assert [rule["ports"][0]["port"] for rule in spec["ingress"]] == [9090]
    assert spec["egress"] == [DNS, POD_IDENTITY]


def test_further_rules_are_added(helm):
    egress = {"to": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "otel"}}}], "ports": [{"port": 4317, "protocol": "TCP"}]}
    ingress = {"from": [{"podSelector": {"matchLabels": {"a": "b"}}}]}
    spec = helm.objects(acme(networkPolicy={"extraEgress": [egress], "extraIngress": [ingress]})).one("NetworkPolicy", "acme-consumer")["spec"]
    assert spec["egress"][-1] == egress and spec["ingress"][-1] == ingress


def test_policies_can_be_switched_off_and_a_network_must_be_one(helm):
    assert not helm.objects(acme(networkPolicy={"enabled": False})).kind("NetworkPolicy")
    assert "/networkPolicy/ingressCIDRs/0" in helm.refusal(acme(networkPolicy={"ingressCIDRs": ["10.0.0.1"]}))


def test_monitors_scrape_the_admin_port_of_one_app_each(helm):
    objects = helm.objects(acme(podMonitor={"enabled": True, "interval": "15s", "labels": {"release": "prometheus"}}))
    assert len(objects.kind("PodMonitor")) == 2
    monitor = objects.one("PodMonitor", "acme-consumer")
    assert monitor["apiVersion"] == "monitoring.coreos.com/v1"
    assert monitor["metadata"]["labels"]["release"] == "prometheus"
    assert monitor["spec"]["selector"] == objects.one("Deployment", "acme-consumer")["spec"]["selector"]
    assert monitor["spec"]["podMetricsEndpoints"] == [{"port": "admin", "path": "/metrics", "interval": "15s"}]


def test_quota_and_limits_belong_to_the_tenants_namespace_and_are_off_by_default(helm):
    assert not helm.objects(acme()).kind("ResourceQuota") + helm.objects(acme()).kind("LimitRange")
    objects = helm.objects(acme(resourceQuota={"enabled": True, "hard": {"pods": 20}}, limitRange={"enabled": True}))
    quota = objects.one("ResourceQuota", "acme-quota")
    assert quota["metadata"]["namespace"] == "acme"
    assert quota["spec"]["hard"] == {
        "pods": "20", "requests.cpu": "8", "requests.memory": "8Gi", "limits.memory": "16Gi",
    }
    limits = objects.one("LimitRange", "acme-limits")["spec"]["limits"]
    assert limits == [{
        "type": "Container", "default": {"memory": "128Mi"}, "defaultRequest": {"cpu": "50m", "memory": "64Mi"}, "max": {"memory": "2Gi"},
    }]


def test_a_namespace_with_quota_takes_every_pod_of_the_chart(helm):
    """A quota on requests and limits refuses pods that do not state them, those of helm tests included."""
    objects = helm.objects(acme(), tests=True)
    containers = [d["spec"]["template"]["spec"]["containers"][0] for d in objects.kind("Deployment")]
    containers += [p["spec"]["containers"][0] for p in objects.kind("Pod")]
    assert len(containers) == 4
    for container in containers:
        assert container["resources"] == {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"memory": "128Mi"}}


@pytest.mark.parametrize("section", ["resourceQuota", "limitRange"])
def test_a_tenant_without_an_app_of_its_own_has_no_namespace_to_limit(helm, section):
    values, _ = tier("basic")
    message = helm.refusal({**values, section: {"enabled": True}})
    assert f"{section}.enabled is true, but no app of this release is dedicated" in message


EXPECTED = {
    "pool-1": {"tenant_id": "pool-1", "enable_producer": True, "enable_consumer": True, "enable_payments": False, "pool_id": "pool-1", "deletion_protection": True},
    "basic": {"tenant_id": "tenant-1", "enable_producer": False, "enable_consumer": False, "enable_payments": False, "pool_id": "pool-1", "deletion_protection": True},
    "advanced": {"tenant_id": "tenant-2", "enable_producer": False, "enable_consumer": True, "enable_payments": False, "pool_id": "pool-1", "deletion_protection": True},
    "premium": {"tenant_id": "tenant-3", "enable_producer": True, "enable_consumer": True, "enable_payments": False, "pool_id": "pool-1", "deletion_protection": True},
}


@pytest.mark.parametrize("name", TIERS)
def test_terraform_is_told_the_tier_in_the_types_that_the_module_declares(helm, name):
    values, where = tier(name)
    objects = helm.objects(values, **where)
    terraform = objects.one("Terraform")
    tenant = values["tenantId"]
    variables = terraform["spec"].pop("vars")
    assert {v["name"]: v["value"] for v in variables} == EXPECTED[name]
    assert terraform["apiVersion"] == "infra.contrib.fluxcd.io/v1alpha2"
    assert (terraform["metadata"]["namespace"], terraform["metadata"]["name"]) == ("flux-system", tenant)
    assert terraform["spec"] == {
        "path": "./terraform/modules/tenant-apps", "interval": "1m", "approvePlan": "auto",
        "destroyResourcesOnDeletion": False,
        "sourceRef": {"kind": "GitRepository", "name": "terraform-v0-0-1"},
        "writeOutputsToSecret": {"name": f"{tenant}-infra-output"},
    }


def test_nothing_that_an_uninstall_removes_is_needed_to_take_terraform_down(helm):
    """Variables stand in the object itself: no varsFrom, no valueFrom, no Secret or ConfigMap of the release."""
    for name in TIERS:
        values, where = tier(name)
        objects = helm.objects(values, **where)
        text = json.dumps(objects.one("Terraform"))
        assert "From" not in text and "${" not in text
        assert not objects.kind("Secret") + objects.kind("ConfigMap")


def test_further_variables_keep_their_types(helm):
    objects = helm.objects("""
tenantId: acme
infra:
  vars: {cluster_name: "0123", max_message_bytes: 262144, ratio: 0.5, record_reads: true, tags: {team: a}, zones: [a, b], gone: null, big: 1000000}
""")
    variables = objects.variables()
    assert {k: variables[k] for k in ("cluster_name", "max_message_bytes", "ratio", "record_reads", "tags", "zones", "big")} == {
        "cluster_name": "0123", "max_message_bytes": 262144, "ratio": 0.5, "record_reads": True, "tags": {"team": "a"}, "zones": ["a", "b"], "big": 1000000,
    }
    assert "gone" not in variables


@pytest.mark.parametrize("name", ["tenant_id", "enable_producer", "enable_consumer", "enable_payments", "pool_id", "deletion_protection"])
def test_variables_of_the_chart_cannot_be_given_twice(helm, name):
    assert f"infra.vars must not set {name}" in helm.refusal(acme(infra={"vars": {name: "x"}}))


@pytest.mark.parametrize("value", ["${{ .outputs.x }}", "${x}", ["a", "${x}"]])
def test_a_placeholder_in_a_variable_is_refused(helm, value):
    assert "infra.vars.cluster_name has a ${ in it" in helm.refusal(acme(infra={"vars": {"cluster_name": value}}))


def test_destroying_is_said_explicitly_and_takes_the_protection_off(helm, helm4):
    objects = helm.objects(acme(infra={"destroyResourcesOnDeletion": True}))
    assert objects.one("Terraform")["spec"]["destroyResourcesOnDeletion"] is True
    assert objects.variables()["deletion_protection"] is False
    assert "removing this release destroys the queue and the table of acme" in helm4.notes(acme(infra={"destroyResourcesOnDeletion": True}))
    kept = helm.objects(acme(infra={"deletionProtection": False}))
    assert kept.variables()["deletion_protection"] is False
    message = helm.refusal(acme(infra={"destroyResourcesOnDeletion": True, "deletionProtection": True}))
    assert "infra.destroyResourcesOnDeletion and infra.deletionProtection are both true" in message


def test_without_automatic_approval_the_notes_say_what_to_do(helm, helm4):
    values = acme(infra={"approvePlan": ""})
    assert "approvePlan" not in helm.objects(values).one("Terraform")["spec"]
    assert "each plan waits until its id" in helm4.notes(values)
    assert helm.objects(acme(infra={"approvePlan": "plan-main-b8e362c206"})).one("Terraform")["spec"]["approvePlan"] == "plan-main-b8e362c206"


def test_the_version_of_the_module_is_a_value(helm):
    terraform = helm.objects(acme(infra={"tfVersion": "terraform-v0-0-2", "interval": "1h"})).one("Terraform")["spec"]
    assert (terraform["sourceRef"]["name"], terraform["interval"]) == ("terraform-v0-0-2", "1h")


@pytest.mark.parametrize("infra", [{"enabled": False}, None])
def test_a_release_can_do_without_terraform(helm, helm4, infra):
    assert not helm.objects(acme(infra=infra)).kind("Terraform")
    assert "must exist already" in helm4.notes(acme(infra=infra))


@pytest.mark.parametrize(
    "apps, pool",
    [
        ({"producer": {"enabled": False}, "consumer": {"enabled": False}}, "pool-1"),
        ({"producer": {"enabled": False, "envId": "pool-3"}}, "pool-3"),
        ({"producer": {"enabled": False, "envId": "pool-3"}, "consumer": {"enabled": False, "ingress": {"enabled": False}}}, "pool-3"),
        ({"producer": {"enabled": False, "ingress": {"enabled": False}}, "consumer": {"enabled": False, "envId": "pool-4", "ingress": {"enabled": False}}}, "pool-4"),
        ({"producer": {"envId": "pool-5"}, "consumer": {"envId": "pool-5"}}, "pool-5"),
        ({"producer": {"enabled": False, "envId": "pool-6"}, "payments": {"envId": None}}, "pool-6"),
    ],
)
def test_terraform_is_told_the_pool_of_what_is_pooled(helm, apps, pool):
    assert helm.objects(acme(apps=apps)).variables()["pool_id"] == pool


def test_the_pool_of_all_apps_can_be_said_once(helm):
    values = {"tenantId": "acme", "appDefaults": {"envId": "pool-2"}, "apps": {"producer": {"enabled": False}, "consumer": {"enabled": False}}}
    objects = helm.objects(values)
    assert objects.variables()["pool_id"] == "pool-2"
    assert {ns for kind, ns, _ in objects.names() if kind == "Service"} == {"pool-2"}
