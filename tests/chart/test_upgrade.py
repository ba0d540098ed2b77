"""The upgrade of a release that the chart of before 0.1 installed: what exists there, and what may not change."""

import pytest

from conftest import Objects, acme

CHART_NAME = "helm-tenant-chart"


def app_before(enabled=True, ingress=True):
    """Values of one app with every key that users have, as they write them: empty maps where they have no wish."""
    return {
        "enabled": enabled, "imagePullSecrets": [], "replicaCount": 3,
        "image": {"repository": "123456789012.dkr.ecr.eu-west-1.amazonaws.com/producer", "pullPolicy": "Always", "tag": "0.1"},
        "serviceAccount": {"create": True}, "podAnnotations": {}, "podSecurityContext": {}, "securityContext": {},
        "service": {"type": "ClusterIP", "port": 80},
        "resources": {"limits": {"cpu": "100m", "memory": "128Mi"}, "requests": {"cpu": "100m", "memory": "128Mi"}},
        "autoscaling": {"enabled": False, "minReplicas": 1, "maxReplicas": 100, "targetCPUUtilizationPercentage": 80},
        "affinity": {}, "envId": "pool-1",
        "ingress": {"enabled": ingress, "className": "alb", "pathType": "Prefix", "annotations": {}, "tls": []},
    }


def values_before(tenant, producer, consumer):
    return {
        "awsAccountId": "123456789012", "tenantId": tenant,
        "global": {"nodeSelector": {"node-type": "applications"}, "tolerations": [{"key": "applications", "operator": "Exists", "effect": "NoSchedule"}]},
        "infra": {"tfVersion": "terraform-v0-0-1"},
        "apps": {"producer": producer, "consumer": consumer},
    }


TIERS_BEFORE = {
    "pool-1": (values_before("pool-1", app_before(ingress=False), app_before(ingress=False)), "pool-1", "pool-1"),
    "basic": (values_before("acme", app_before(enabled=False), app_before(enabled=False)), "acme-basic", "pool-1"),
    "advanced": (values_before("acme", app_before(enabled=False), app_before()), "acme-advanced", "acme"),
    "premium": (values_before("acme", app_before(), app_before()), "acme-premium", "acme"),
}


def objects_before(values, release, namespace) -> Objects:
    """What the cluster holds of such a release: names, namespaces, labels, selectors and ports, as they were made."""
    tenant = values["tenantId"]
    found = Objects()

    def add(kind, name, where, spec, app, **metadata):
        found.append({"kind": kind, "metadata": {"name": name, "namespace": where, **metadata}, "spec": spec, "app": app})

    for app, given in values["apps"].items():
        own = f"{tenant}-{app}"
        labels = {"app.kubernetes.io/name": f"{CHART_NAME}-{app}", "app.kubernetes.io/instance": release, "app": own}
        routed_in = tenant if given["enabled"] else given["envId"]
        if given["enabled"]:
            port = {"name": "http", "containerPort": given["service"]["port"]}
            template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": app, "ports": [port]}]}}
            add("Deployment", own, namespace, {"selector": {"matchLabels": labels}, "template": template}, app)
            role = f"arn:aws:iam::{values['awsAccountId']}:role/{app}-role-{tenant}"
            add("ServiceAccount", own, namespace, {}, app, annotations={"eks.amazonaws.com/role-arn": role})
        if given["ingress"]["enabled"]:
            selected = own if given["enabled"] else f"{given['envId']}-{app}"
            add("Service", own, routed_in, {"selector": {"app": selected}, "ports": [{"port": 80, "targetPort": "http"}]}, app)
            add("Ingress", f"{tenant}-ingress-{app}", routed_in, {"path": f"/{app}"}, app)
    add("Terraform", tenant, "flux-system", {"vars": {"tenant_id": tenant, **{f"enable_{a}": g["enabled"] for a, g in values["apps"].items()}}}, None)
    return found


def selects(selector: dict, deployment: dict) -> bool:
    return selector.items() <= deployment["spec"]["template"]["metadata"]["labels"].items()


@pytest.fixture(params=TIERS_BEFORE)
def upgrade(request, helm):
    values, release, namespace = TIERS_BEFORE[request.param]
    return objects_before(values, release, namespace), helm.objects(values, release=release, namespace=namespace)


def test_every_object_that_exists_is_taken_over_under_its_name(upgrade):
    before, after = upgrade
    assert before.names() <= after.names()
    assert {kind for kind, _, _ in after.names() - before.names()} <= {"PodDisruptionBudget", "NetworkPolicy"}


def test_selectors_of_deployments_do_not_change_since_they_cannot(upgrade):
    before, after = upgrade
    for old in before.kind("Deployment"):
        new = after.one("Deployment", old["metadata"]["name"])
        assert new["spec"]["selector"] == old["spec"]["selector"]
        assert selects(old["spec"]["selector"]["matchLabels"], new)


def test_during_the_rollout_each_service_finds_the_pods_of_before_and_those_of_after(upgrade):
    before, after = upgrade
    for old in before.kind("Service"):
        new = after.one("Service", old["metadata"]["name"])
        for service in (old, new):
            for deployment in before.kind("Deployment") + after.kind("Deployment"):
                expected = deployment["metadata"]["name"] == old["spec"]["selector"]["app"]
                assert selects(service["spec"]["selector"], deployment) is expected
        # By the port's name, which is another number in the new pods.
        assert new["spec"]["ports"][0]["targetPort"] == old["spec"]["ports"][0]["targetPort"] == "http"
        assert new["spec"]["ports"][0]["port"] == 80


def test_the_new_policy_lets_the_load_balancer_reach_the_pods_of_before_and_those_of_after(upgrade):
    before, after = upgrade
    for old in before.kind("Deployment"):
        name = old["metadata"]["name"]
        policy = after.one("NetworkPolicy", name)["spec"]
        assert selects(policy["podSelector"]["matchLabels"], old)
        open_ports = {port["port"] for port in policy["ingress"][0]["ports"]}
        for deployment in (old, after.one("Deployment", name)):
            (container,) = deployment["spec"]["template"]["spec"]["containers"]
            assert {p["containerPort"] for p in container["ports"] if p["name"] == "http"} <= open_ports


def test_pods_of_a_pool_of_before_serve_tenants_of_after_and_the_other_way_round(helm):
    values, release, namespace = TIERS_BEFORE["pool-1"]
    old_pool, new_pool = objects_before(values, release, namespace), helm.objects(values, release=release, namespace=namespace)
    values, release, namespace = TIERS_BEFORE["basic"]
    old_tenant, new_tenant = objects_before(values, release, namespace), helm.objects(values, release=release, namespace=namespace)
    for tenant in (old_tenant, new_tenant):
        for app in ("producer", "consumer"):
            selector = tenant.one("Service", f"acme-{app}")["spec"]["selector"]
            for pool in (old_pool, new_pool):
                assert [d["metadata"]["name"] for d in pool.kind("Deployment") if selects(selector, d)] == [f"pool-1-{app}"]


def test_roles_and_routes_are_the_same_as_before(upgrade):
    before, after = upgrade
    for old in before.kind("ServiceAccount"):
        assert after.one("ServiceAccount", old["metadata"]["name"])["metadata"]["annotations"] == old["metadata"]["annotations"]
    for old in before.kind("Ingress"):
        new = after.one("Ingress", old["metadata"]["name"])
        (path,) = new["spec"]["rules"][0]["http"]["paths"]
        assert path["path"] == old["spec"]["path"] and path["pathType"] == "Prefix"
        annotations = new["metadata"]["annotations"]
        assert annotations["alb.ingress.kubernetes.io/group.name"] == "tenants-lb"
        assert annotations["alb.ingress.kubernetes.io/scheme"] == "internet-facing"
        # No listeners were said before; to say some now would move those who brought a certificate by annotation.
        assert "alb.ingress.kubernetes.io/listen-ports" not in annotations


def test_terraform_keeps_its_name_and_its_answers(upgrade):
    before, after = upgrade
    old, variables = before.one("Terraform")["spec"]["vars"], after.variables()
    assert old.items() <= variables.items()
    assert after.one("Terraform")["spec"]["sourceRef"]["name"] == "terraform-v0-0-1"


def test_what_users_wrote_is_still_what_they_get(helm):
    values, release, namespace = TIERS_BEFORE["premium"]
    objects = helm.objects(values, release=release, namespace=namespace)
    deployment = objects.one("Deployment", "acme-consumer")
    container = objects.container("acme-consumer")
    assert deployment["spec"]["replicas"] == 3
    assert container["image"] == "123456789012.dkr.ecr.eu-west-1.amazonaws.com/producer:0.1"
    assert container["imagePullPolicy"] == "Always"
    assert container["resources"] == {"limits": {"cpu": "100m", "memory": "128Mi"}, "requests": {"cpu": "100m", "memory": "128Mi"}}
    assert objects.pod("acme-consumer")["nodeSelector"] == {"node-type": "applications"}
    assert objects.pod("acme-consumer")["securityContext"]["runAsUser"] == 65532
    assert container["securityContext"]["readOnlyRootFilesystem"] is True


def test_an_autoscaler_keeps_its_name(helm):
    values = acme(apps={"producer": {"autoscaling": {"enabled": True, "minReplicas": 1, "maxReplicas": 100}}})
    assert helm.objects(values).one("HorizontalPodAutoscaler")["metadata"]["name"] == "acme-producer-hpa"
