"""Drives the real helm binaries on the chart; every test that takes `helm` runs with Helm 4 and with Helm 3."""

import json
import os
import subprocess
from pathlib import Path

import pytest
import yaml

CHART = Path(__file__).resolve().parents[2] / "helm-tenant-chart"
BIN = Path(os.environ.get("HELM_BIN") or Path(__file__).resolve().parents[2] / ".cache/bin")


class StrictLoader(yaml.CSafeLoader):
    """YAML 1.1 as Kubernetes' tools read it, but a key given twice is an error instead of the last one's victory."""


def _mapping(loader, node):
    keys = [loader.construct_object(key) for key, _ in node.value]
    doubled = {key for key in keys if keys.count(key) > 1}
    assert not doubled, f"given twice in one map: {doubled} ({node.start_mark})"
    return loader.construct_mapping(node, deep=True)


StrictLoader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


class Objects(list):
    """The objects of one render."""

    def kind(self, kind: str) -> list[dict]:
        return [o for o in self if o["kind"] == kind]

    def one(self, kind: str, name: str | None = None) -> dict:
        found = [o for o in self.kind(kind) if name in (None, o["metadata"]["name"])]
        assert len(found) == 1, f"{len(found)} objects {kind} {name or ''}"
        return found[0]

    def names(self) -> set[tuple[str, str, str]]:
        return {(o["kind"], o["metadata"]["namespace"], o["metadata"]["name"]) for o in self}

    def pod(self, deployment: str) -> dict:
        return self.one("Deployment", deployment)["spec"]["template"]["spec"]

    def container(self, deployment: str) -> dict:
        (container,) = self.pod(deployment)["containers"]
        return container

    def env(self, deployment: str) -> dict[str, str]:
        return {e["name"]: e.get("value") for e in self.container(deployment)["env"]}

    def variables(self) -> dict:
        return {v["name"]: v["value"] for v in self.one("Terraform")["spec"]["vars"]}


class Helm:
    """One helm binary, with homes of its own, so that nothing of the machine's settings gets in."""

    def __init__(self, name: str, home: Path):
        self.name = name
        self.binary = BIN / name
        assert self.binary.exists(), f"{self.binary} is missing: run tools/helm, or `make chart`"
        self.env = {"PATH": os.environ["PATH"], "HOME": str(home), "KUBECONFIG": os.devnull}

    def run(self, *args: str, values=None) -> subprocess.CompletedProcess:
        """Values are a map, or text in YAML where how it is written matters."""
        given = () if values is None else ("-f", "-")
        text = values if isinstance(values, str) else json.dumps(values)
        return subprocess.run(
            [self.binary, *args, *given], input=text, env=self.env, capture_output=True, text=True, timeout=120
        )

    def text(self, values=None, *args: str, release="acme-premium", namespace="acme", chart=CHART) -> str:
        done = self.run("template", release, str(chart), "-n", namespace, *args, values=values)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def objects(self, values=None, *args: str, tests=False, **where) -> Objects:
        """The objects that a release has; with `tests`, the pods of `helm test` too."""
        args = args if tests else ("--skip-tests", *args)
        documents = yaml.load_all(self.text(values, *args, **where), StrictLoader)
        return Objects(d for d in documents if d)

    def refusal(self, values=None, *args: str) -> str:
        """What helm says when it refuses; an accepted render fails the test."""
        done = self.run("template", "acme-premium", str(CHART), "-n", "acme", *args, values=values)
        assert done.returncode != 0, "was accepted"
        return done.stderr

    def notes(self, values=None, release="acme-premium", namespace="acme") -> str:
        """What an install says at its end. Helm 3 asks a cluster even for this, so it is Helm 4 that is asked."""
        done = self.run("install", "--dry-run=client", release, str(CHART), "-n", namespace, values=values)
        assert done.returncode == 0, done.stderr
        return done.stdout.split("\nNOTES:\n")[1]


@pytest.fixture(scope="session", params=["helm", "helm3"])
def helm(request, tmp_path_factory) -> Helm:
    return Helm(request.param, tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="session")
def helm4(tmp_path_factory) -> Helm:
    """For what costs many renders and does not depend on which helm it is."""
    return Helm("helm", tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="session")
def helm3(tmp_path_factory) -> Helm:
    return Helm("helm3", tmp_path_factory.mktemp("home"))


def tier(name: str) -> tuple[dict, dict]:
    """The example values of a tier, and the release and namespace that they are for."""
    values = yaml.safe_load((CHART / "ci" / f"{name}.yaml").read_text())
    tenant = values["tenantId"]
    release = tenant if name == "pool-1" else f"{tenant}-{name}"
    return values, {"release": release, "namespace": "pool-1" if name == "basic" else tenant}


TIERS = ["pool-1", "basic", "advanced", "premium"]


def acme(**values) -> dict:
    """A tenant with everything of its own, and what a test adds."""
    return {"tenantId": "acme", **values}


def producer(**values) -> dict:
    """A tenant whose producer has these values, and no other app."""
    return {"tenantId": "acme", "apps": {"producer": values, "consumer": None}}
