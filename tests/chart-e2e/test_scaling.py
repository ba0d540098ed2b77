"""Who owns the number of pods, what a budget lets go, and what a quota counts: as the cluster's controllers see it."""

import pytest

from api import ApiError, eventually
from everything import everything_on
from helm import HelmFailed
from releases import with_image


def deployment(tenant: str, app: str) -> dict:
    meta = {"name": f"{tenant}-{app}", "namespace": tenant}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta}


def test_everything_that_the_chart_can_make_is_accepted_and_runs(releases):
    rendered = releases.apply(everything_on(releases, "full"), "full-premium")
    names = [each["kind"] for each in rendered]
    assert {kind: names.count(kind) for kind in sorted(set(names))} == {
        "Deployment": 3,
        "HorizontalPodAutoscaler": 1,
        "Ingress": 3,
        "LimitRange": 1,
        "NetworkPolicy": 3,
        "PodDisruptionBudget": 2,  # none for the consumer: KEDA may leave it one pod
        "PodMonitor": 3,
        "ResourceQuota": 1,
        "ScaledObject": 1,
        "Service": 3,
        "ServiceAccount": 3,
        "Terraform": 1,
    }
    releases.assert_whole("full-premium", rendered)
    releases.helm.test("full-premium", "full")


def test_the_autoscaler_keeps_its_number_of_pods_through_an_upgrade(releases):
    values = releases.values("premium", "scaled")
    values["apps"]["producer"]["autoscaling"] = {"enabled": True, "minReplicas": 4, "maxReplicas": 6}
    releases.apply(values, "scaled-premium")
    producer = deployment("scaled", "producer")
    eventually("the autoscaler's minimum", lambda: releases.api.get(producer)["spec"]["replicas"] == 4)
    changed = with_image(values, "prd-20261130T140000Z", replicas=1)
    releases.apply(changed, "scaled-premium")
    assert releases.api.get(producer)["spec"]["replicas"] == 4
    assert releases.api.get(deployment("scaled", "consumer"))["spec"]["replicas"] == 1


def test_a_budget_lets_one_pod_go_at_a_time(releases):
    releases.apply(with_image(releases.values("premium", "drained"), "prd-20261130T140000Z", replicas=3), "drained-premium")
    for app in ("producer", "consumer"):
        meta = {"name": f"drained-{app}", "namespace": "drained"}
        budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": meta}

        def status() -> tuple:
            found = releases.api.get(budget).get("status", {})
            return found.get("expectedPods"), found.get("currentHealthy"), found.get("disruptionsAllowed")

        eventually(f"{app}: 3 pods, of which 1 may go", lambda: status() == (3, 3, 1))


def test_a_quota_counts_the_tenants_pods_and_refuses_those_beyond_it(releases):
    values = with_image(releases.values("premium", "bounded"), "prd-20261130T140000Z", replicas=2)
    values["resourceQuota"] = {"enabled": True, "hard": {"pods": "5"}}
    rendered = releases.apply(values, "bounded-premium")
    quota = next(each for each in rendered if each["kind"] == "ResourceQuota")

    def used() -> str | None:
        return releases.api.get(quota).get("status", {}).get("used", {}).get("pods")

    eventually("4 pods counted", lambda: used() == "4")
    with pytest.raises(HelmFailed):
        releases.apply(with_image(values, "prd-20261130T140000Z", replicas=3), "bounded-premium", "--timeout=5s")
    eventually("the fifth is in, the sixth is not", lambda: used() == "5")


def test_a_limit_range_gives_a_container_without_resources_its_bounds(releases):
    values = releases.values("premium", "limited")
    values["limitRange"] = {"enabled": True}
    values["apps"]["consumer"]["resources"] = {"requests": {"cpu": None, "memory": None}, "limits": {"memory": None}}
    releases.apply(values, "limited-premium")
    labels = releases.api.get(deployment("limited", "consumer"))["spec"]["selector"]["matchLabels"]
    for pod in releases.pods("limited", labels):
        assert pod["spec"]["containers"][0]["resources"] == {
            "requests": {"cpu": "50m", "memory": "64Mi"},
            "limits": {"memory": "128Mi"},
        }


def test_pods_without_the_restricted_security_context_are_refused(releases):
    """That the other tests' pods run says something only if one that breaks the rules does not."""
    values = releases.values("premium", "unsafe")
    values["apps"]["producer"]["securityContext"] = {"allowPrivilegeEscalation": True}
    with pytest.raises(HelmFailed):
        releases.apply(values, "unsafe-premium", "--timeout=5s")

    def refusal() -> str:
        conditions = releases.api.get(deployment("unsafe", "producer"))["status"].get("conditions", [])
        return next((each["message"] for each in conditions if each["type"] == "ReplicaFailure"), "")

    eventually("the refusal", lambda: 'violates PodSecurity "restricted:latest"' in refusal())
    meta = {"name": "root", "namespace": "unsafe"}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": [{"name": "a", "image": "a"}]}}
    with pytest.raises(ApiError, match="violates PodSecurity"):
        releases.api.create(pod, dryRun="All")


def test_what_was_switched_on_can_be_switched_off_again(releases):
    """Each way: objects come and go, and those that stay are as if the release had been installed so.

    As many pods as the autoscaler's minimum: Helm changes the Deployment first and deletes the autoscaler last, which
    would set another number back in between.
    """
    plain = with_image(releases.values("premium", "full"), "prd-20261130T140000Z", replicas=3)
    full = everything_on(releases, "full")
    full["apps"]["producer"] |= plain["apps"]["producer"]
    for values in (plain, full, plain):
        releases.assert_whole("full-premium", releases.apply(values, "full-premium"))


def test_autoscaling_is_switched_on_without_losing_a_pod_when_the_pods_were_scaled_by_hand_before(releases):
    """A field that its only owner stops applying falls back to its default, here one pod. `kubectl scale` owns it too."""
    values = with_image(releases.values("premium", "grown"), "prd-20261130T140000Z", replicas=3)
    releases.apply(values, "grown-premium")
    producer = deployment("grown", "producer")
    releases.api.scale(producer, 4)
    values["apps"]["producer"]["autoscaling"] = {"enabled": True, "minReplicas": 2, "maxReplicas": 6}
    rendered = releases.apply(values, "grown-premium")
    assert releases.api.get(producer)["spec"]["replicas"] == 4
    releases.assert_whole("grown-premium", rendered)


def test_pods_scaled_by_hand_stop_the_next_upgrade_until_it_is_forced_once(releases):
    values = with_image(releases.values("premium", "hand"), "prd-20261130T140000Z", replicas=2)
    releases.apply(values, "hand-premium")
    releases.api.scale(deployment("hand", "producer"), 3)
    changed = with_image(values, "prd-20261130T150000Z", replicas=2)
    with pytest.raises(HelmFailed, match=r"conflict.*\.spec\.replicas"):
        releases.apply(changed, "hand-premium")
    releases.assert_whole("hand-premium", releases.apply(changed, "hand-premium", "--force-conflicts"))
    releases.assert_whole("hand-premium", releases.apply(values, "hand-premium"))
