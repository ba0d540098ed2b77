"""The same chart with the same values once more writes nothing: Flux does so whenever it reconciles."""

import pytest

from compare import versions
from everything import everything_on


def again(releases, values: dict, release: str, namespace: str, *options: str, helm=None) -> None:
    rendered = releases.apply(values, release, namespace=namespace, helm=helm)
    releases.assert_whole(release, rendered)
    before = versions(releases.api, rendered)
    assert releases.apply(values, release, *options, namespace=namespace, helm=helm) == rendered
    assert versions(releases.api, rendered) == before


@pytest.mark.parametrize("tier", ["basic", "advanced", "premium"])
def test_a_second_upgrade_of_a_tenant_writes_nothing(releases, tier):
    releases.apply(releases.values("pool-1", "pool-4"), "pool-4")
    namespace = "pool-4" if tier == "basic" else "twice"
    again(releases, releases.values(tier, "twice", pool="pool-4"), f"twice-{tier}", namespace)


def test_a_second_upgrade_of_a_pool_writes_nothing(releases):
    again(releases, releases.values("pool-1", "pool-4"), "pool-4", "pool-4")


def test_a_second_upgrade_with_everything_on_writes_nothing(releases):
    again(releases, everything_on(releases, "twice"), "twice-premium", "twice")


def test_an_upgrade_that_forces_conflicts_writes_nothing_where_there_are_none(releases):
    again(releases, releases.values("premium", "twice"), "twice-premium", "twice", "--server-side=true", "--force-conflicts")


def test_a_second_upgrade_by_helm_3_writes_nothing(releases, helm3):
    again(releases, everything_on(releases, "twice"), "twice-premium", "twice", helm=helm3)


def test_helm_4_takes_over_from_helm_3_with_nothing_to_write(releases, helm3):
    values = everything_on(releases, "twice")
    rendered = releases.apply(values, "twice-premium", helm=helm3)
    before = versions(releases.api, rendered)
    assert releases.apply(values, "twice-premium") == rendered
    assert versions(releases.api, rendered) == before
