"""Tenants that run objects of the chart before 0.1 (as root, selectors by three labels) are upgraded in place."""

from pathlib import Path

import pytest

from compare import identity
from node import LABEL
from releases import RESTRICTED

EARLIER = Path(__file__).parent / "earlier-chart"
# Applied on the client as Helm 3 did, and then on the client still (Helm's default for such a release) or by the server
# (what Flux does).
WAYS = {"client-side": (), "server-side": ("--server-side=true",), "server-side, forced": ("--server-side=true", "--force-conflicts")}


@pytest.fixture
def upgrade(releases):
    """Installs the chart from before, forbids root in the namespaces, upgrades; gives the objects before and after."""

    def upgrade(tier: str, tenant: str, release: str, namespace: str, *options: str) -> tuple[dict, list[dict]]:
        values = releases.values(tier, tenant, pool="pool-5")
        for name in ("pool-5", namespace):
            _label(releases, name, dict.fromkeys(RESTRICTED))
        old = releases.apply(values, release, "--server-side=false", chart=EARLIER, namespace=namespace)
        before = {identity(each): releases.api.get(each) for each in old}
        for name in ("pool-5", namespace):
            _label(releases, name, RESTRICTED)
        return before, releases.apply(values, release, *options, namespace=namespace)

    return upgrade


def _label(releases, namespace: str, labels: dict) -> None:
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace, "labels": {LABEL: "true"} | labels}}
    releases.make_namespace(namespace, {})
    releases.api.call("PATCH", f"/api/v1/namespaces/{namespace}", body, "application/merge-patch+json")


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


def test_a_pool_is_upgraded_in_place_under_tenants_that_are_not_yet(releases, upgrade):
    tenant = releases.values("basic", "old", pool="pool-5")
    before, rendered = upgrade("pool-1", "pool-5", "pool-5", "pool-5")
    releases.assert_whole("pool-5", rendered)
    for way, options in WAYS.items():
        old = releases.apply(tenant, "old-basic", "--server-side=false", chart=EARLIER, namespace="pool-5")
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
