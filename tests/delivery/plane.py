"""The application plane of gitops/ as files, and what Helm makes of it."""

import functools
import os
import subprocess
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
GITOPS = ROOT / "gitops"
PLANE = GITOPS / "application-plane/production"
TIERS = ("basic", "advanced", "premium")
EXAMPLES = {"basic": "tenant-1", "advanced": "tenant-2", "premium": "tenant-3"}


def documents(path: Path) -> list[dict]:
    """All objects of a YAML file."""
    return [d for d in yaml.safe_load_all(path.read_text()) if d]


def one(objects: list[dict], kind: str) -> dict:
    """The only object of that kind."""
    found = [o for o in objects if o["kind"] == kind]
    assert len(found) == 1, f"{len(found)} objects of kind {kind}"
    return found[0]


def environments() -> list[Path]:
    """The files of all pools and tenants."""
    return sorted(p for f in ("pooled-envs", "tenants") for p in (PLANE / f).glob("*.yaml") if p.name != "kustomization.yaml")


def onboard(plane: Path, *arguments: str) -> subprocess.CompletedProcess:
    """Runs gitops/onboard on a copy of the plane."""
    return subprocess.run(
        [GITOPS / "onboard", *arguments], env={**os.environ, "PLANE": str(plane)}, capture_output=True, text=True
    )


@functools.cache
def helm() -> str:
    """The Helm that Flux runs."""
    done = subprocess.run([ROOT / "tools/helm", "helm"], stdout=subprocess.PIPE, text=True)
    assert done.returncode == 0, "tools/helm could not get Helm; it says why above"
    return done.stdout.strip() + "/helm"


def cluster_values() -> str:
    """The values that all releases share, as text."""
    return one(documents(GITOPS / "infrastructure/sources/cluster-values.yaml"), "ConfigMap")["data"]["values.yaml"]


def render(release: dict, folder: Path) -> list[dict]:
    """The objects that helm-controller would apply for a HelmRelease: shared values first, then its own."""
    spec = release["spec"]
    assert spec["valuesFrom"] == [{"kind": "ConfigMap", "name": "cluster-values"}]
    shared, own = folder / "shared.yaml", folder / "own.yaml"
    shared.write_text(cluster_values())
    own.write_text(yaml.safe_dump(spec["values"]))
    command = [helm(), "template", spec["releaseName"], str(ROOT / "helm-tenant-chart"), "--namespace", spec["targetNamespace"]]
    done = subprocess.run([*command, "--skip-tests", "-f", shared, "-f", own], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [d for d in yaml.safe_load_all(done.stdout) if d]
