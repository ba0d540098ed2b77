"""Tenants that run objects of the chart before 0.1 (as root, selectors by three labels) are upgraded in place."""

from pathlib import Path

import pytest

from compare import identity
from namespaces import RESTRICTED, relabel

EARLIER = Path(__file__).parent / "earlier-chart"
# Installed by Helm 3, which applies on the client; Helm 4 goes on so unless told to let the server do it.
WAYS = {
    "client-side": (),
    "server-side": ("--server-side=true",),
    "server-side, forced": ("--server-side=true", "--force-conflicts"),
}


@pytest.fixture
def upgrade(releases, helm3):
    """Installs the chart from before, forbids root in the namespaces, upgrades; gives the objects before and after."""

    def upgrade(tier: str, tenant: str, release: str, namespace: str, *options: str, helm=None):
        values = releases.values(tier, tenant, pool="pool-5")
        for name in ("pool-5", namespace):
            releases.make_namespace(name, {})
            relabel(releases.api, name, dict.fromkeys(RESTRICTED))
        old = releases.apply(values, release, chart=EARLIER, namespace=namespace, helm=helm3)
        before = {identity(each): releases.api.get(each) for each in old}
        for name in ("pool-5", namespace):
            relabel(releases.api, name, RESTRICTED)
        return before, releases.apply(values, release, *options, namespace=namespace, helm=helm)

    return upgrade


@pytest.mark.parametrize("way", WAYS)
def test_a_premium_tenant_is_upgraded_in_place(releases, upgrade, way):
    before, rendered = upgrade("premium", "old", "old-premium", "old", *WAYS[way])
    releases.assert_whole("old-premium", rendered)
    after = {identity(each): releases.api.get(each) for each in rendered}
    # Nothing is deleted and made anew, which would be a gap in serving; every object keeps its name.
    assert {name: after[name]["metadata"]["uid"] for name in before} == {
        name: each["metadata"]["uid"] for name, each in before.items()
    }
    for name, each in before.items():
        if each["kind"] == "Deployment":
            assert after[name]["spec"]["selector"] == each["spec"]["selector"]


def test_a_pool_is_upgraded_in_place_under_tenants_that_are_not_yet(releases, upgrade, helm3):
    tenant = releases.values("basic", "old", pool="pool-5")
    before, rendered = upgrade("pool-1", "pool-5", "pool-5", "pool-5")
    releases.assert_whole("pool-5", rendered)
    for way, options in WAYS.items():
        old = releases.apply(tenant, "old-basic", chart=EARLIER, namespace="pool-5", helm=helm3)
        for service in (each for each in old if each["kind"] == "Service"):
            releases.assert_leads_to_pods(service)
        releases.assert_whole("old-basic", releases.apply(tenant, "old-basic", *options, namespace="pool-5"))


def test_while_the_rollout_lasts_the_new_service_still_selects_the_old_pods(releases, upgrade):
    before, rendered = upgrade("premium", "old", "old-premium", "old")
    services = {each["metadata"]["name"]: each["spec"]["selector"] for each in rendered if each["kind"] == "Service"}
    assert sorted(services) == ["old-consumer", "old-producer"]
    for each in before.values():
        if each["kind"] == "Deployment":
            labels = each["spec"]["template"]["metadata"]["labels"]
            assert services[each["metadata"]["name"]].items() <= labels.items()


def test_helm_3_upgrades_a_premium_tenant_in_place_too(releases, upgrade, helm3):
    before, rendered = upgrade("premium", "old", "old-premium", "old", helm=helm3)
    releases.assert_whole("old-premium", rendered)
    for name, uid in ((identity(each), releases.api.get(each)["metadata"]["uid"]) for each in rendered):
        assert name not in before or before[name]["metadata"]["uid"] == uid
