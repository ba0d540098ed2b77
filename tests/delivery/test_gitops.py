"""What the files of gitops/ promise: a tenant is one file, its release renders with the chart, and nothing takes data away."""

import re
import shutil

import pytest
import yaml
from checkout import run
from plane import EXAMPLES, GITOPS, PLANE, TIERS, documents, environments, helm, onboard, one, render

PATHS = [p.parent for p in sorted(GITOPS.rglob("kustomization.yaml"))]
MINUTES = 60


def seconds(duration: str) -> int:
    """A duration such as 15m in seconds."""
    number, unit = re.fullmatch(r"(\d+)([smh])", duration).groups()
    return int(number) * {"s": 1, "m": MINUTES, "h": 60 * MINUTES}[unit]


@pytest.mark.parametrize("path", PATHS, ids=lambda p: str(p.relative_to(GITOPS)))
def test_each_path_builds_with_kustomize_and_names_every_file_in_it(path):
    assert "kind:" in run("kustomize", "build", str(path))
    listed = yaml.safe_load((path / "kustomization.yaml").read_text())["resources"]
    files = [p.name for p in path.glob("*.yaml") if p.name != "kustomization.yaml"]
    assert sorted(listed) == sorted(files)


def test_the_paths_that_flux_builds_exist_and_tenants_wait_for_the_pools():
    objects = [o for f in (GITOPS / "clusters/production").glob("*.yaml") for o in documents(f) if "fluxcd" in o["apiVersion"]]
    built = {o["metadata"]["name"]: o["spec"] for o in objects}
    assert sorted(built) == ["image-automation", "pooled-envs", "sources", "tenants"]
    for spec in built.values():
        assert (GITOPS.parent / spec["path"] / "kustomization.yaml").is_file()
        assert spec["prune"] is True
    assert built["pooled-envs"]["dependsOn"] == [{"name": "sources"}]
    assert built["tenants"]["dependsOn"] == [{"name": "pooled-envs"}]
    assert built["pooled-envs"]["wait"] is True
    assert built["tenants"]["wait"] is False
    pool = one(documents(PLANE / "pooled-envs/pool-1.yaml"), "HelmRelease")
    assert seconds(built["pooled-envs"]["timeout"]) > seconds(pool["spec"]["timeout"])


@pytest.mark.parametrize("name", ["pooled-envs", "tenants"])
def test_taking_the_kustomization_object_away_takes_no_pool_or_tenant_away(name):
    objects = documents(GITOPS / "clusters/production/application-plane.yaml")
    spec = next(o["spec"] for o in objects if o["metadata"]["name"] == name)
    assert spec["deletionPolicy"] == "Orphan"


@pytest.mark.parametrize("file", environments(), ids=lambda p: p.stem)
def test_an_environment_is_one_id_in_all_its_places(file):
    objects = documents(file)
    release = one(objects, "HelmRelease")
    spec = release["spec"]
    assert one(objects, "Namespace")["metadata"]["name"] == file.stem
    assert spec["values"]["tenantId"] == file.stem
    assert (spec["targetNamespace"], spec["storageNamespace"]) == (file.stem, file.stem)
    assert spec["releaseName"] == release["metadata"]["name"]
    assert len(spec["releaseName"]) <= 53
    assert spec["chartRef"] == {"kind": "OCIRepository", "name": "helm-tenant-chart"}


@pytest.mark.parametrize("file", environments(), ids=lambda p: p.stem)
def test_the_namespace_survives_pruning_and_holds_pods_to_the_restricted_standard(file):
    meta = one(documents(file), "Namespace")["metadata"]
    assert meta["annotations"]["kustomize.toolkit.fluxcd.io/prune"] == "disabled"
    assert meta["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"


@pytest.mark.parametrize("file", environments(), ids=lambda p: p.stem)
def test_a_release_outlasts_the_first_terraform_run_and_no_failure_uninstalls_it(file, tmp_path):
    release = one(documents(file), "HelmRelease")
    spec = release["spec"]
    assert seconds(spec["timeout"]) >= 10 * MINUTES
    assert seconds(spec["uninstall"]["timeout"]) >= 15 * MINUTES
    for action in ("install", "upgrade"):
        assert spec[action]["strategy"]["name"] == "RetryOnFailure"
        assert "remediation" not in spec[action]
        assert "timeout" not in spec[action]
    for deployment in (o for o in render(release, tmp_path) if o["kind"] == "Deployment"):
        assert deployment["spec"]["progressDeadlineSeconds"] >= seconds(spec["timeout"])


@pytest.mark.parametrize("file", environments(), ids=lambda p: p.stem)
def test_deletion_is_stated_and_a_table_that_outlives_its_release_is_protected(file, tmp_path):
    release = one(documents(file), "HelmRelease")
    infra = release["spec"]["values"]["infra"]
    assert infra["deletionProtection"] is not infra["destroyResourcesOnDeletion"]
    terraform = one(render(release, tmp_path), "Terraform")["spec"]
    given = {v["name"]: v["value"] for v in terraform["vars"]}
    assert terraform["destroyResourcesOnDeletion"] is infra["destroyResourcesOnDeletion"]
    assert given["deletion_protection"] is infra["deletionProtection"]
    if given["enable_consumer"]:
        assert infra["destroyResourcesOnDeletion"] is False


TIER_RUNS = {"basic": set(), "advanced": {"consumer", "payments"}, "premium": {"producer", "consumer", "payments"}}


@pytest.mark.parametrize("tier", TIERS)
def test_a_tier_runs_what_it_promises_and_routes_the_rest_to_the_pool(tier, tmp_path):
    tenant = EXAMPLES[tier]
    objects = render(one(documents(PLANE / f"tenants/{tenant}.yaml"), "HelmRelease"), tmp_path)
    runs = {o["metadata"]["name"].removeprefix(f"{tenant}-") for o in objects if o["kind"] == "Deployment"}
    routes = {o["metadata"]["name"]: o["metadata"]["namespace"] for o in objects if o["kind"] == "Ingress"}
    given = {v["name"]: v["value"] for v in one(objects, "Terraform")["spec"]["vars"]}
    assert runs == TIER_RUNS[tier]
    assert {n for n in ("producer", "consumer", "payments") if given[f"enable_{n}"]} == TIER_RUNS[tier]
    assert routes == {
        f"{tenant}-ingress-{app}": tenant if app in TIER_RUNS[tier] else "pool-1" for app in ("producer", "consumer", "payments")
    }
    assert given["tenant_id"] == tenant
    assert given["pool_id"] == "pool-1"


def test_the_terraform_object_takes_the_module_from_the_source_that_flux_fetches(tmp_path):
    source = one(documents(GITOPS / "infrastructure/sources/terraform-v0-0-1.yaml"), "GitRepository")
    for file in environments():
        spec = one(render(one(documents(file), "HelmRelease"), tmp_path), "Terraform")["spec"]
        assert spec["sourceRef"] == {"kind": "GitRepository", "name": source["metadata"]["name"]}
        assert (GITOPS.parent / spec["path"] / "variables.tf").is_file()
        declared = set(re.findall(r'^variable "(\w+)"', (GITOPS.parent / spec["path"] / "variables.tf").read_text(), re.M))
        assert {v["name"] for v in spec["vars"]} <= declared
    assert source["spec"]["ref"] == {"tag": "v0.0.1"}


UNITS = {"": 1, "m": 0.001, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}


def quantity(value) -> float:
    """A Kubernetes quantity as a number."""
    number, unit = re.fullmatch(r"([\d.]+)([A-Za-z]*)", str(value)).groups()
    return float(number) * UNITS[unit]


@pytest.mark.parametrize("file", environments(), ids=lambda p: p.stem)
def test_a_quota_admits_every_pod_of_a_fully_scaled_release_during_a_rollout(file, tmp_path):
    source = documents(file)
    objects = render(one(source, "HelmRelease"), tmp_path)
    hard = one([o for o in source + objects if o["kind"] == "ResourceQuota"], "ResourceQuota")["spec"]["hard"]
    most = {
        o["spec"]["scaleTargetRef"]["name"]: o["spec"]["maxReplicas"] for o in objects if o["kind"] == "HorizontalPodAutoscaler"
    }
    need = {"pods": 0.0, "requests.cpu": 0.0, "requests.memory": 0.0, "limits.memory": 0.0}
    for o in (o for o in objects if o["kind"] == "Deployment"):
        pods = most[o["metadata"]["name"]] + o["spec"]["strategy"]["rollingUpdate"]["maxSurge"]
        resources = o["spec"]["template"]["spec"]["containers"][0]["resources"]
        need["pods"] += pods
        for name in ("requests.cpu", "requests.memory", "limits.memory"):
            part, kind = name.split(".")
            need[name] += pods * quantity(resources[part][kind])
    for name, wanted in need.items():
        if name in hard or wanted:
            assert quantity(hard[name]) >= wanted, f"{name}: {hard[name]} for {wanted}"


def test_a_higher_tier_has_the_higher_quota():
    def pods(path):
        objects = documents(path)
        own = [o for o in objects if o["kind"] == "ResourceQuota"]
        hard = own[0]["spec"]["hard"] if own else one(objects, "HelmRelease")["spec"]["values"]["resourceQuota"]["hard"]
        return int(hard["pods"])

    assert [pods(PLANE / f"tier-templates/{t}_tenant_template.yaml") for t in TIERS] == [0, 16, 32]


def test_the_cluster_s_values_reach_the_pods_as_they_are_written(tmp_path):
    objects = render(one(documents(PLANE / "tenants/tenant-3.yaml"), "HelmRelease"), tmp_path)
    account = next(o for o in objects if o["kind"] == "ServiceAccount" and o["metadata"]["name"] == "tenant-3-payments")
    role = account["metadata"]["annotations"]["eks.amazonaws.com/role-arn"]
    assert role == "arn:aws:iam::123456789012:role/payments-role-tenant-3"
    deployment = next(o for o in objects if o["kind"] == "Deployment" and o["metadata"]["name"] == "tenant-3-payments")
    image = deployment["spec"]["template"]["spec"]["containers"][0]["image"]
    assert re.fullmatch(r"123456789012\.dkr\.ecr\.eu-central-1\.amazonaws\.com/payments:prd-\d{8}T\d{6}Z", image)


@pytest.fixture
def plane(tmp_path):
    """A copy of the plane that a test may change."""
    return shutil.copytree(PLANE, tmp_path / "plane")


@pytest.mark.parametrize("tier", TIERS)
def test_the_example_tenants_are_what_onboarding_writes(tier, plane):
    tenant = EXAMPLES[tier]
    committed = (PLANE / f"tenants/{tenant}.yaml").read_text()
    (plane / f"tenants/{tenant}.yaml").unlink()
    assert onboard(plane, tier, tenant).returncode == 0
    assert (plane / f"tenants/{tenant}.yaml").read_text() == committed


def test_pool_1_is_what_onboarding_a_pool_writes(plane):
    (plane / "pooled-envs/pool-1.yaml").unlink()
    assert onboard(plane, "pool", "pool-1").returncode == 0
    assert (plane / "pooled-envs/pool-1.yaml").read_text() == (PLANE / "pooled-envs/pool-1.yaml").read_text()


@pytest.mark.parametrize("tenant", ["a" * 40, "null", "true", "on", "no", "acme-2", "e5", "x"])
@pytest.mark.parametrize("tier", TIERS)
def test_a_new_tenant_of_any_allowed_id_builds_and_renders(tier, tenant, plane, tmp_path):
    assert onboard(plane, tier, tenant).returncode == 0
    built = [d for d in yaml.safe_load_all(run("kustomize", "build", str(plane / "tenants")))]
    release = next(o for o in built if o["kind"] == "HelmRelease" and o["spec"]["values"]["tenantId"] == tenant)
    assert release["spec"]["targetNamespace"] == tenant
    terraform = one(render(release, tmp_path), "Terraform")
    assert terraform["metadata"]["name"] == tenant
    assert "TENANT_ID" not in (plane / f"tenants/{tenant}.yaml").read_text()


@pytest.mark.parametrize(
    "tenant, why",
    [
        ("Acme", "1 to 40 of a-z"),
        ("a" * 41, "1 to 40 of a-z"),
        ("1acme", "1 to 40 of a-z"),
        ("acme-", "1 to 40 of a-z"),
        ("acme.corp", "1 to 40 of a-z"),
        ("acme corp", "1 to 40 of a-z"),
        ("../pool-1", "1 to 40 of a-z"),
        ("café", "1 to 40 of a-z"),
        ("", "1 to 40 of a-z"),
        ("acme--x", "two dashes"),
        ("awsome", "aws or ssm"),
        ("ssmith", "aws or ssm"),
        ("default", "cluster's own"),
        ("kube-system", "cluster's own"),
        ("flux-system", "cluster's own"),
        ("pool-2", "pool-* are pools"),
        ("tenant-1", "has been onboarded"),
    ],
)
def test_an_id_that_is_none_is_refused_with_the_reason_and_nothing_is_written(tenant, why, plane):
    before = {p: p.read_bytes() for p in plane.rglob("*") if p.is_file()}
    done = onboard(plane, "basic", tenant)
    assert done.returncode == 1
    assert why in done.stderr
    assert {p: p.read_bytes() for p in plane.rglob("*") if p.is_file()} == before


@pytest.mark.parametrize(
    "arguments, code", [(["gold", "acme"], 1), (["pool", "acme"], 1), (["pool", "pool-0"], 1), (["basic"], 2)]
)
def test_a_tier_or_pool_that_does_not_exist_is_refused(arguments, code, plane):
    assert onboard(plane, *arguments).returncode == code


def test_the_last_tenant_can_leave(plane):
    """An empty folder still builds, so that the removal reaches the cluster."""
    for file in (plane / "tenants").glob("tenant-*.yaml"):
        file.unlink()
    listing = plane / "tenants/kustomization.yaml"
    listing.write_text(re.sub(r"^  - tenant-.*\n", "", listing.read_text(), flags=re.M))
    assert run("kustomize", "build", str(plane / "tenants")) == ""
    assert onboard(plane, "basic", "acme").returncode == 0
    assert "namespace: acme" in run("kustomize", "build", str(plane / "tenants"))


def test_a_change_of_tier_in_place_keeps_release_and_selectors(tmp_path):
    """The walk-through: the values of the new tier under the old release name."""
    release = one(documents(PLANE / "tenants/tenant-2.yaml"), "HelmRelease")
    before = render(release, tmp_path)
    release["spec"]["values"] = {
        **one(documents(PLANE / "tenants/tenant-3.yaml"), "HelmRelease")["spec"]["values"],
        "tenantId": "tenant-2",
    }
    after = render(release, tmp_path)

    def selector(objects):
        return next(
            o["spec"]["selector"]["matchLabels"]
            for o in objects
            if o["kind"] == "Deployment" and o["metadata"]["name"] == "tenant-2-consumer"
        )

    assert selector(before) == selector(after)
    assert one(before, "Terraform")["metadata"] == one(after, "Terraform")["metadata"]
    moved = next(o for o in after if o["kind"] == "Ingress" and o["metadata"]["name"] == "tenant-2-ingress-producer")
    assert moved["metadata"]["namespace"] == "tenant-2"


def test_helm_is_version_4_as_in_flux():
    assert run(helm(), "version", "--template", "{{.Version}}").startswith("v4.")
