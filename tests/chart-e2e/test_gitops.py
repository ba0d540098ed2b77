"""The releases as they are in gitops/, with their quotas and their cluster's values, and a tier changed by its script."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

import namespaces
from api import eventually
from compare import quantity
from controlplane import ROOT

PLANE = ROOT / "gitops/application-plane/production"
CLUSTER_VALUES = ROOT / "gitops/infrastructure/sources/cluster-values.yaml"


def merged(base: dict, over: dict) -> dict:
    """As Flux does with the values of `valuesFrom` and then its own."""
    both = base | over
    for key in base.keys() & over.keys():
        if isinstance(base[key], dict) and isinstance(over[key], dict):
            both[key] = merged(base[key], over[key])
    return both


class Flux:
    """What of Flux matters here: objects of a file are applied, those that went from it are pruned, releases are upgraded."""

    def __init__(self, releases):
        self._releases = releases
        self._applied: dict[Path, list[dict]] = {}
        config = yaml.safe_load(CLUSTER_VALUES.read_text())
        self._common = yaml.safe_load(config["data"]["values.yaml"])

    def apply(self, file: Path, over: dict | None = None) -> tuple[str, list[dict]]:
        """`over` are values on top of the file's."""
        documents = [each for each in yaml.safe_load_all(file.read_text()) if each]
        plain = [each for each in documents if each["kind"] not in ("Namespace", "HelmRelease")]
        for each in documents:
            if each["kind"] == "Namespace":
                name = each["metadata"]["name"]
                self._releases.make_namespace(name, {})
                namespaces.relabel(self._releases.api, name, each["metadata"]["labels"])
        for each in plain:
            path = self._releases.api.path(each)
            query = {"fieldManager": "flux", "force": "true", "fieldValidation": "Strict"}
            self._releases.api.call("PATCH", path, each, "application/apply-patch+yaml", **query)
        for each in self._applied.get(file, []):
            if self._releases.api.path(each) not in map(self._releases.api.path, plain):
                self._releases.api.delete(each)
        self._applied[file] = plain
        spec = next(each for each in documents if each["kind"] == "HelmRelease")["spec"]
        assert spec["targetNamespace"] == spec["storageNamespace"], "one namespace for objects and records"
        values = merged(merged(self._common, spec["values"]), over or {})
        rendered = self._releases.apply(values, spec["releaseName"], namespace=spec["targetNamespace"])
        return spec["releaseName"], rendered

    def remove_plain_objects(self) -> None:
        for each in (each for objects in self._applied.values() for each in objects):
            self._releases.api.delete(each)


@pytest.fixture
def flux(releases):
    flux = Flux(releases)
    yield flux
    flux.remove_plain_objects()


def tenants_of(plane: Path) -> list[Path]:
    return sorted(file for file in (plane / "tenants").glob("*.yaml") if file.name != "kustomization.yaml")


def test_the_pool_and_the_tenants_of_gitops_run_within_their_quotas(releases, flux):
    pools = sorted(file for file in (PLANE / "pooled-envs").glob("*.yaml") if file.name != "kustomization.yaml")
    applied = [flux.apply(file) for file in (*pools, *tenants_of(PLANE))]
    assert len(applied) >= 4
    for release, rendered in applied:
        releases.assert_whole(release, rendered)
        releases.helm.test(release, releases.namespace_of(release))


def with_pods_of_their_own() -> list[Path]:
    return [file for file in (PLANE / "pooled-envs/pool-1.yaml", *tenants_of(PLANE)) if "maxReplicas" in file.read_text()]


@pytest.mark.parametrize("file", with_pods_of_their_own(), ids=lambda file: file.stem)
def test_a_release_of_gitops_at_its_autoscalers_maximum_has_room_in_its_quota_for_a_rollout(releases, flux, file):
    _, rendered = flux.apply(file)
    scalers = [each for each in rendered if each["kind"] == "HorizontalPodAutoscaler"]
    most = {each["metadata"]["labels"]["app.kubernetes.io/component"]: each["spec"]["maxReplicas"] for each in scalers}
    assert len(most) >= 2
    busy = {name: {"autoscaling": {"minReplicas": count}} for name, count in most.items()}
    _, rendered = flux.apply(file, {"apps": busy})
    quota = next(each for each in rendered if each["kind"] == "ResourceQuota")

    def used() -> dict | None:
        status = releases.api.get(quota).get("status", {})
        return status["used"] if status.get("used", {}).get("pods") == str(sum(most.values())) else None

    taken = eventually("the quota counts every pod of the maximum", used, within=120)
    # A new image of every app at once: each has one pod more for a while.
    extra = dict.fromkeys(taken, 0)
    for each in (each for each in rendered if each["kind"] == "Deployment"):
        assert each["spec"]["strategy"]["rollingUpdate"]["maxSurge"] == 1
        extra["pods"] += 1
        for kind, amounts in each["spec"]["template"]["spec"]["containers"][0]["resources"].items():
            for name, value in amounts.items():
                key = f"{kind}.{name}"
                extra[key] = extra.get(key, 0) + quantity(value)
    short = [
        f"{name}: {taken[name]} used and {extra[name]} more, of {hard}"
        for name, hard in quota["spec"]["hard"].items()
        if quantity(taken[name]) + extra[name] > quantity(hard)
    ]
    assert not short, "\n".join(short)


def test_a_tenant_of_gitops_changes_its_tier_by_the_script_and_comes_back(releases, flux, tmp_path):
    plane = tmp_path / "production"
    shutil.copytree(PLANE, plane)
    flux.apply(plane / "pooled-envs/pool-1.yaml")
    file = plane / "tenants/tenant-1.yaml"
    release, rendered = flux.apply(file)
    assert release == "tenant-1-basic"
    releases.assert_whole(release, rendered)
    for tier, apps in (("advanced", 2), ("premium", 3), ("basic", 0)):
        subprocess.run(
            [ROOT / "gitops/change-tier", tier, "tenant-1"], env=os.environ | {"PLANE": str(plane)}, check=True
        )
        again, rendered = flux.apply(file)
        assert again == release, "the release keeps its name, and with it records and selectors"
        releases.assert_whole(release, rendered)
        assert sum(each["kind"] == "Deployment" for each in rendered) == apps
    eventually("no pod of the tenant is left", lambda: not releases.pods("tenant-1", {}))
