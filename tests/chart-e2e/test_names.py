"""Ids as long as they may be: every name that is made of one still fits, and two that are almost the same stay apart."""

import pytest

from releases import with_image

LONG = "a-tenant-with-the-longest-name-there-is-"[:39]
ONE, OTHER = LONG + "1", LONG + "2"


@pytest.mark.parametrize("tier", ["basic", "advanced", "premium"])
def test_a_tenant_with_an_id_of_40_characters_is_installed_tested_and_removed(releases, tier):
    assert len(ONE) == 40
    namespace = "pool-2" if tier == "basic" else ONE
    releases.apply(releases.values("pool-1", "pool-2"), "pool-2")
    values = releases.values(tier, ONE, pool="pool-2")
    for app in ("producer", "consumer", "payments"):
        values["apps"].setdefault(app, {"enabled": tier == "premium", "envId": "pool-2"})
    values["apps"]["payments"]["ingress"] = {"enabled": tier == "premium"}
    release = f"{ONE}-{tier}"
    releases.assert_whole(release, releases.apply(values, release, namespace=namespace))
    releases.helm.test(release, namespace)


def test_two_tenants_with_the_same_first_39_characters_share_no_object_and_no_pod(releases):
    assert ONE[:39] == OTHER[:39] and ONE != OTHER
    rendered = {}
    for tenant in (ONE, OTHER):
        values = with_image(releases.values("premium", tenant), f"prd-{tenant[-1]}", replicas=2)
        rendered[tenant] = releases.apply(values, f"{tenant}-premium")
    for tenant, objects in rendered.items():
        releases.assert_whole(f"{tenant}-premium", objects)
        for deployment in (each for each in objects if each["kind"] == "Deployment"):
            labels = deployment["spec"]["selector"]["matchLabels"]
            pods = releases.pods(tenant, labels)
            assert [pod["spec"]["containers"][0]["image"].rsplit(":", 1)[1] for pod in pods] == [f"prd-{tenant[-1]}"] * 2
            other = OTHER if tenant == ONE else ONE
            assert releases.pods(other, labels) == []


def test_two_pooled_tenants_with_the_same_first_39_characters_have_routes_of_their_own(releases):
    releases.apply(releases.values("pool-1", "pool-2"), "pool-2")
    headers = {}
    for tenant in (ONE, OTHER):
        values = releases.values("basic", tenant, pool="pool-2")
        objects = releases.apply(values, f"{tenant}-basic", namespace="pool-2")
        releases.assert_whole(f"{tenant}-basic", objects)
        for ingress in (each for each in objects if each["kind"] == "Ingress"):
            live = releases.api.get(ingress)["metadata"]["annotations"]
            conditions = [value for key, value in live.items() if "/conditions." in key]
            headers.setdefault(tenant, []).extend(conditions)
    for tenant, conditions in headers.items():
        want = f'[{{"field":"http-header","httpHeaderConfig":{{"httpHeaderName":"TenantID","values":["{tenant}"]}}}}]'
        assert conditions == [want, want]
