"""Ingresses: who reaches whom, and what a user's annotations cannot do."""

import json

import pytest

from conftest import TIERS, acme, producer, tier

ALB = "alb.ingress.kubernetes.io/"


def annotations(objects, name="acme-ingress-producer"):
    return objects.one("Ingress", name)["metadata"]["annotations"]


def test_a_route_is_the_tenants_header_and_the_apps_path(helm):
    objects = helm.objects(acme())
    assert annotations(objects) == {
        f"{ALB}scheme": "internet-facing",
        f"{ALB}target-type": "ip",
        f"{ALB}group.name": "tenants-lb",
        f"{ALB}healthcheck-path": "/producer",
        f"{ALB}target-group-attributes": "deregistration_delay.timeout_seconds=15",
        f"{ALB}conditions.acme-producer": json.dumps(
            [{"field": "http-header", "httpHeaderConfig": {"httpHeaderName": "TenantID", "values": ["acme"]}}],
            separators=(",", ":"),
        ),
    }
    ingress = objects.one("Ingress", "acme-ingress-producer")["spec"]
    assert ingress == {
        "ingressClassName": "alb",
        "rules": [{"http": {"paths": [{
            "path": "/producer", "pathType": "Prefix",
            "backend": {"service": {"name": "acme-producer", "port": {"number": 80}}},
        }]}}],
    }


@pytest.mark.parametrize("name", TIERS)
def test_every_ingress_has_one_condition_keyed_by_its_backend_and_nothing_dead(helm, name):
    values, where = tier(name)
    objects = helm.objects(values, **where)
    for ingress in objects.kind("Ingress"):
        (rule,) = ingress["spec"]["rules"]
        (path,) = rule["http"]["paths"]
        backend = path["backend"]["service"]["name"]
        keys = [key for key in ingress["metadata"]["annotations"] if "conditions." in key or "actions." in key]
        assert keys == [f"{ALB}conditions.{backend}"]
        (condition,) = json.loads(ingress["metadata"]["annotations"][keys[0]])
        assert condition["httpHeaderConfig"] == {"httpHeaderName": "TenantID", "values": [values["tenantId"]]}
        assert objects.one("Service", backend)["metadata"]["namespace"] == ingress["metadata"]["namespace"]
        assert "defaultBackend" not in ingress["spec"]
        assert f"{ALB}group.order" not in ingress["metadata"]["annotations"]


def test_the_shared_load_balancer_is_described_by_values(helm):
    arn = "arn:aws:acm:eu-west-1:123456789012:certificate/a"
    objects = helm.objects(acme(loadBalancer={
        "groupName": "tenants-lb-2", "scheme": "internal", "listenPorts": [{"HTTP": 80}, {"HTTPS": 443}],
        "certificateArns": [arn, arn + "b"], "sslRedirectPort": 443, "sslPolicy": "ELBSecurityPolicy-TLS13-1-2-2021-06",
    }))
    for name in ("acme-ingress-producer", "acme-ingress-consumer"):
        found = annotations(objects, name)
        assert found[f"{ALB}group.name"] == "tenants-lb-2"
        assert found[f"{ALB}scheme"] == "internal"
        assert json.loads(found[f"{ALB}listen-ports"]) == [{"HTTP": 80}, {"HTTPS": 443}]
        assert found[f"{ALB}certificate-arn"] == f"{arn},{arn}b"
        assert found[f"{ALB}ssl-redirect"] == "443"
        assert found[f"{ALB}ssl-policy"] == "ELBSecurityPolicy-TLS13-1-2-2021-06"


@pytest.mark.parametrize(
    "balancer, message",
    [
        ({"listenPorts": [{"HTTPS": 443}]}, "loadBalancer.listenPorts has HTTPS, but loadBalancer.certificateArns is empty"),
        ({"certificateArns": ["arn:aws:acm:eu-west-1:123456789012:certificate/a"], "listenPorts": [{"HTTP": 80}]},
         "loadBalancer.certificateArns is set, but no listener of loadBalancer.listenPorts is HTTPS"),
        ({"sslRedirectPort": 443}, "loadBalancer.sslRedirectPort is 443, which is no HTTPS listener"),
        ({"certificateArns": ["my-cert"]}, "/loadBalancer/certificateArns/0"),
        ({"listenPorts": [{"TCP": 80}]}, "/loadBalancer/listenPorts/0"),
        ({"scheme": "public"}, "/loadBalancer/scheme"),
        ({"groupName": "Tenants LB"}, "/loadBalancer/groupName"),
    ],
)
def test_what_would_stop_the_whole_group_is_refused(helm, balancer, message):
    assert message in helm.refusal(acme(loadBalancer=balancer))


@pytest.mark.parametrize(
    "key, advice",
    [
        (f"{ALB}conditions.acme-producer", "decided by its TenantID header alone"),
        (f"{ALB}conditions.other", "decided by its TenantID header alone"),
        (f"{ALB}actions.acme-producer", "decided by its TenantID header alone"),
        (f"{ALB}group.name", "set loadBalancer.groupName"),
        (f"{ALB}group.order", "one order given twice stops the whole group"),
        (f"{ALB}target-type", "targets are pods (ip)"),
        ("kubernetes.io/ingress.class", "set apps.producer.ingress.className"),
    ],
)
def test_annotations_of_a_user_cannot_replace_what_makes_the_route(helm, key, advice):
    message = helm.refusal(producer(ingress={"annotations": {key: "x"}}))
    assert f"apps.producer.ingress.annotations must not set {key}" in message and advice in message
    assert f"commonAnnotations must not set {key}" in helm.refusal(acme(commonAnnotations={key: "x"}))


def test_another_deregistration_delay_is_refused_and_other_attributes_are_added(helm):
    key = f"{ALB}target-group-attributes"
    message = helm.refusal(producer(ingress={"annotations": {key: "deregistration_delay.timeout_seconds=300"}}))
    assert "set apps.producer.shutdown.deregistrationDelaySeconds" in message
    objects = helm.objects(producer(ingress={"annotations": {key: "load_balancing.algorithm.type=least_outstanding_requests"}}))
    assert annotations(objects)[key] == (
        "deregistration_delay.timeout_seconds=15,load_balancing.algorithm.type=least_outstanding_requests"
    )


def test_other_annotations_of_a_user_are_added_or_win(helm):
    objects = helm.objects(producer(ingress={"annotations": {f"{ALB}scheme": "internal", f"{ALB}success-codes": 200, "example.com/x": None}}))
    found = annotations(objects)
    assert found[f"{ALB}scheme"] == "internal" and found[f"{ALB}success-codes"] == "200" and "example.com/x" not in found


def test_an_annotation_key_that_kubernetes_would_not_take_is_refused(helm):
    message = helm.refusal(producer(ingress={"annotations": {"a b": "x"}}))
    assert "at '/apps/producer/ingress/annotations': additional properties 'a b' not allowed" in message


def test_a_pool_has_no_route_of_its_own(helm):
    assert not helm.objects({"tenantId": "pool-1"}, release="pool-1", namespace="pool-1").kind("Ingress")
    message = helm.refusal({"tenantId": "pool-1", "apps": {"producer": {"ingress": {"enabled": True}}}})
    assert "apps.producer.ingress.enabled is true in the release of pool-1: a pool has no route of its own" in message


def test_a_route_without_a_service_is_refused(helm):
    message = helm.refusal(producer(service={"enabled": False}))
    assert "apps.producer.service.enabled is false, but its route needs the Service" in message
    assert not helm.objects(producer(service={"enabled": False}, ingress={"enabled": False})).kind("Service")


def test_routes_lead_to_another_pool_where_that_serves_the_tenant(helm):
    values, where = tier("basic")
    for app in values["apps"].values():
        app["envId"] = "pool-7"
    objects = helm.objects(values, **where)
    assert {ns for kind, ns, _ in objects.names() if kind != "Terraform"} == {"pool-7"}
    assert objects.one("Service", "tenant-1-producer")["spec"]["selector"]["app"] == "pool-7-producer"
    assert objects.variables()["pool_id"] == "pool-7"


def test_a_tenant_in_two_pools_is_refused(helm):
    values, _ = tier("basic")
    values["apps"]["producer"]["envId"] = "pool-2"
    assert "apps.consumer.envId is pool-1 and apps.producer.envId pool-2: one pool serves a tenant" in helm.refusal(values)


@pytest.mark.parametrize("ingress, expected", [
    ({"className": "internal-alb"}, ("internal-alb", "Prefix")), ({"pathType": "Exact"}, ("alb", "Exact")),
])
def test_class_and_path_type_are_values(helm, ingress, expected):
    spec = helm.objects(producer(ingress=ingress)).one("Ingress")["spec"]
    assert (spec["ingressClassName"], spec["rules"][0]["http"]["paths"][0]["pathType"]) == expected
