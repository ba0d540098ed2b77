"""A tenant that changes its tier keeps working routes, and nothing of the former tier stays."""

import pytest

from compare import identity

POOL = "pool-3"


@pytest.fixture
def pool(releases):
    releases.apply(releases.values("pool-1", POOL), POOL)


def test_one_release_moves_through_all_tiers_and_back(releases, pool):
    deployments = {}
    for tier in ("basic", "advanced", "premium", "advanced", "basic"):
        rendered = releases.apply(releases.values(tier, "mover", pool=POOL), "mover", namespace="mover")
        releases.assert_whole("mover", rendered)
        names = [each["metadata"]["name"] for each in rendered if each["kind"] == "Deployment"]
        deployments.setdefault(tier, sorted(names))
        routes = {each["metadata"]["name"]: each["metadata"]["namespace"] for each in rendered if each["kind"] == "Ingress"}
        own = "mover" if tier == "premium" else POOL
        assert routes["mover-ingress-producer"] == own
        assert routes["mover-ingress-consumer"] == (POOL if tier == "basic" else "mover")
    assert deployments == {
        "basic": [],
        "advanced": ["mover-consumer"],
        "premium": ["mover-consumer", "mover-producer"],
    }


def test_a_tenant_moves_by_a_release_of_the_new_tier_after_that_of_the_old_is_gone(releases, pool):
    """As with a file per tenant that names another tier template: the release has another name and namespace."""
    old = releases.apply(releases.values("basic", "mover", pool=POOL), "mover-basic", namespace=POOL)
    releases.assert_whole("mover-basic", old)
    releases.uninstall("mover-basic", POOL)
    new = releases.apply(releases.values("advanced", "mover", pool=POOL), "mover-advanced", namespace="mover")
    releases.assert_whole("mover-advanced", new)
    releases.helm.test("mover-advanced", "mover")
    # The Terraform object keeps its name, so that tofu-controller goes on with the state it has.
    terraform = "infra.contrib.fluxcd.io/v1alpha2 Terraform flux-system/mover"
    assert terraform in map(identity, old) and terraform in map(identity, new)


def test_a_release_of_the_new_tier_is_refused_while_that_of_the_old_still_holds_the_routes(releases, pool):
    releases.apply(releases.values("basic", "mover", pool=POOL), "mover-basic", namespace=POOL)
    with pytest.raises(Exception, match="meta.helm.sh/release-name"):
        releases.apply(releases.values("advanced", "mover", pool=POOL), "mover-advanced", namespace="mover")
    releases.assert_whole("mover-basic", releases.helm.manifest("mover-basic", POOL))
