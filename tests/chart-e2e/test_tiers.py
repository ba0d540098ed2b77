"""A pool and a tenant of each tier, side by side, through what happens to a release in its life."""

import pytest

from releases import with_image

OLD, NEW = "prd-20261130T120000Z", "prd-20261130T130000Z"
# Release name, tier, tenant, and the namespace that Helm's records are in. Where all is pooled that is the pool's.
PLANE = [
    ("pool-1", "pool-1", "pool-1", "pool-1"),
    ("blue-basic", "basic", "blue", "pool-1"),
    ("green-advanced", "advanced", "green", "green"),
    ("red-premium", "premium", "red", "red"),
]


def kinds(rendered: list[dict]) -> dict[str, int]:
    names = [each["kind"] for each in rendered]
    return {name: names.count(name) for name in sorted(set(names))}


@pytest.fixture
def plane(releases):
    """All four, installed with the old image; release name to (values, namespace)."""
    made = {}
    for release, tier, tenant, namespace in PLANE:
        values = with_image(releases.values(tier, tenant), OLD, replicas=2)
        releases.apply(values, release, namespace=namespace)
        made[release] = (values, namespace)
    return made


def test_a_pool_and_three_tiers_are_installed_upgraded_rolled_back_and_uninstalled(releases, plane):
    helm = releases.helm
    for release, (_, namespace) in plane.items():
        releases.assert_whole(release, helm.manifest(release, namespace))

    for release, (values, namespace) in plane.items():
        rendered = releases.apply(with_image(values, NEW, replicas=3), release, namespace=namespace)
        releases.assert_whole(release, rendered)
        for deployment in (each for each in rendered if each["kind"] == "Deployment"):
            assert deployment["spec"]["template"]["spec"]["containers"][0]["image"].endswith(f":{NEW}")
            assert releases.api.get(deployment)["spec"]["replicas"] == 3

    for release, (_, namespace) in plane.items():
        helm.rollback(release, namespace, 1)
        rendered = helm.manifest(release, namespace)
        releases.assert_whole(release, rendered)
        for deployment in (each for each in rendered if each["kind"] == "Deployment"):
            live = releases.api.get(deployment)
            assert live["spec"]["template"]["spec"]["containers"][0]["image"].endswith(f":{OLD}")
            assert live["spec"]["replicas"] == 2
        assert [each["status"] for each in helm.history(release, namespace)] == ["superseded", "superseded", "deployed"]

    for release, (_, namespace) in reversed(plane.items()):
        releases.uninstall(release, namespace)
    releases.assert_nothing_left()


def test_the_tests_of_each_release_succeed(releases, plane):
    for release, (_, namespace) in plane.items():
        releases.helm.test(release, namespace)


def test_uninstalling_one_tenant_leaves_the_others_as_they_were(releases, plane):
    releases.uninstall("green-advanced", "green")
    for release, (_, namespace) in plane.items():
        if release != "green-advanced":
            releases.assert_whole(release, releases.helm.manifest(release, namespace))
