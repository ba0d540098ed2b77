"""What each kind of release is made of."""

from collections import Counter

import pytest
import yaml

from conftest import CHART, TIERS, acme, tier

KINDS = ["Deployment", "ServiceAccount", "PodDisruptionBudget", "NetworkPolicy", "Service", "Ingress", "Terraform"]
COUNTS = {
    "pool-1": [2, 2, 2, 2, 0, 0, 1],
    "basic": [0, 0, 0, 0, 2, 2, 1],
    "advanced": [1, 1, 1, 1, 2, 2, 1],
    "premium": [2, 2, 2, 2, 2, 2, 1],
}


@pytest.mark.parametrize("name", TIERS)
def test_a_release_of_each_tier_has_exactly_the_objects_that_belong_to_it(helm, name):
    values, where = tier(name)
    expected = {kind: count for kind, count in zip(KINDS, COUNTS[name]) if count}
    assert Counter(o["kind"] for o in helm.objects(values, **where)) == expected


def test_the_readme_states_these_counts():
    lines = (CHART / "README.md").read_text().split("<!-- counts: begin -->")[1].split("<!-- counts: end -->")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines.strip().splitlines()]
    assert rows[0] == ["", *KINDS, "all"]
    assert {row[0]: [int(n) for n in row[1:]] for row in rows[2:]} == {
        name: [*counts, sum(counts)] for name, counts in COUNTS.items()
    }


@pytest.mark.parametrize("name, extra", [("premium", 6), ("basic", 2)])
def test_payments_with_its_route_adds_one_of_each_but_terraform(helm, name, extra):
    values, where = tier(name)
    before = helm.objects(values, **where)
    values["apps"]["payments"] = {"enabled": name == "premium", "ingress": {"enabled": True}}
    after = helm.objects(values, **where)
    added = after.names() - before.names()
    assert len(added) == extra
    assert all("payments" in name for _, _, name in added)


def test_payments_is_off_and_has_no_route_unless_asked_for(helm):
    objects = helm.objects(acme())
    assert not [n for n in objects.names() if "payments" in n[2]]
    only_enabled = helm.objects(acme(apps={"payments": {"enabled": True}}))
    assert {kind for kind, _, name in only_enabled.names() if "payments" in name} == {
        "Deployment", "ServiceAccount", "PodDisruptionBudget", "NetworkPolicy",
    }


def test_the_smallest_values_work_from_any_namespace(helm, helm4):
    values = {"tenantId": "acme", "apps": {"producer": {"enabled": True}, "consumer": {"enabled": True}}}
    objects = helm.objects(values, release="smallest", namespace="default")
    assert {namespace for _, namespace, _ in objects.names()} == {"acme", "flux-system"}
    assert objects.container("acme-producer")["image"] == "producer:0.1.0"
    assert "annotations" not in objects.one("ServiceAccount", "acme-producer")["metadata"]
    notes = helm4.notes(values, release="smallest", namespace="default")
    assert "awsAccountId is empty, so acme-consumer, acme-producer have no role annotation" in notes
    assert "the release is kept in the namespace default, its objects are in acme" in notes


def test_the_notes_of_a_complete_release_have_nothing_to_warn_of(helm4):
    for name in TIERS:
        values, where = tier(name)
        assert "NOTE" not in helm4.notes(values, **where)


def test_an_advanced_tenant_keeps_its_pooled_route_in_the_pools_namespace(helm):
    values, where = tier("advanced")
    objects = helm.objects(values, **where)
    assert {n for n in objects.names() if n[0] in ("Service", "Ingress")} == {
        ("Service", "pool-1", "tenant-2-producer"),
        ("Ingress", "pool-1", "tenant-2-ingress-producer"),
        ("Service", "tenant-2", "tenant-2-consumer"),
        ("Ingress", "tenant-2", "tenant-2-ingress-consumer"),
    }


def test_a_pooled_service_selects_the_pools_pods_and_no_others(helm):
    pool, in_pool = tier("pool-1")
    pods = helm.objects(pool, **in_pool).kind("Deployment")
    basic, where = tier("basic")
    for service in helm.objects(basic, **where).kind("Service"):
        app = service["metadata"]["labels"]["app.kubernetes.io/component"]
        selected = [
            d["metadata"]["name"] for d in pods
            if service["spec"]["selector"].items() <= d["spec"]["template"]["metadata"]["labels"].items()
        ]
        assert selected == [f"pool-1-{app}"]


def test_selectors_of_any_two_workloads_are_disjoint(helm):
    """Three apps of one tenant, another tenant, and a pool: each Service and selector matches one Deployment's pods."""
    releases = [
        helm.objects(acme(apps={"payments": {"enabled": True, "ingress": {"enabled": True}}})),
        helm.objects({"tenantId": "acme-2"}, release="acme-2-premium", namespace="acme-2"),
        helm.objects({"tenantId": "pool-1"}, release="pool-1", namespace="pool-1"),
    ]
    deployments = [d for objects in releases for d in objects.kind("Deployment")]
    assert len(deployments) == 7
    selecting = [d["spec"]["selector"]["matchLabels"] for d in deployments]
    selecting += [s["spec"]["selector"] for objects in releases for s in objects.kind("Service")]
    selecting += [p["spec"]["podSelector"]["matchLabels"] for objects in releases for p in objects.kind("NetworkPolicy")]
    selecting += [b["spec"]["selector"]["matchLabels"] for objects in releases for b in objects.kind("PodDisruptionBudget")]
    for selector in selecting:
        assert {"app.kubernetes.io/name", "app.kubernetes.io/instance", "app"} == set(selector)
        matched = [d for d in deployments if selector.items() <= d["spec"]["template"]["metadata"]["labels"].items()]
        assert len(matched) == 1


def test_an_app_that_a_user_adds_has_the_same_defaults_but_terraform_is_not_told(helm):
    objects = helm.objects(acme(apps={"reports": {"enabled": True}}))
    plain = objects.container("acme-reports")
    assert plain["image"] == "reports:0.1.0"
    for kind in ("ServiceAccount", "PodDisruptionBudget", "NetworkPolicy", "Service"):
        objects.one(kind, "acme-reports")
    assert objects.one("Ingress", "acme-ingress-reports")["spec"]["rules"][0]["http"]["paths"][0]["path"] == "/reports"
    like_producer = yaml.safe_dump(objects.one("Deployment", "acme-producer")).replace("producer", "reports")
    assert yaml.safe_load(like_producer) == objects.one("Deployment", "acme-reports")
    assert not [name for name in objects.variables() if "reports" in name]


def test_the_same_chart_renders_the_same_text_every_time_for_install_and_upgrade(helm):
    for name in TIERS:
        values, where = tier(name)
        first = helm.text(values, **where)
        assert first == helm.text(values, **where)
        assert first == helm.text(values, "--is-upgrade", **where)


def test_both_helms_render_the_same_objects(helm4, helm):
    for name in TIERS:
        values, where = tier(name)
        key = lambda o: (o["kind"], o["metadata"]["namespace"], o["metadata"]["name"])  # noqa: E731
        assert sorted(helm4.objects(values, **where), key=key) == sorted(helm.objects(values, **where), key=key)


@pytest.mark.parametrize("name", [None, *TIERS])
def test_lint_is_strict_and_clean(helm, name):
    values = tier(name)[0] if name else {}
    done = helm.run("lint", "--strict", str(CHART), values=values)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 chart(s) failed" in done.stdout
    assert "WARNING" not in done.stdout
