"""One control plane for the whole run, or the cluster of KUBECONFIG; and tenants that must leave nothing behind."""

import os
from pathlib import Path
from typing import Iterator

import pytest
import yaml

import node as stand_in
from api import Api
from controlplane import ROOT, ControlPlane
from helm import Helm
from releases import Releases

CHART = ROOT / "helm-tenant-chart"


@pytest.fixture(scope="session")
def kubeconfig(tmp_path_factory) -> Iterator[Path]:
    given = os.environ.get("KUBECONFIG")
    if given:
        yield Path(given)
        return
    plane = ControlPlane(tmp_path_factory.mktemp("controlplane"))
    plane.start()
    yield plane.kubeconfig
    plane.stop()


@pytest.fixture(scope="session")
def api(kubeconfig) -> Iterator[Api]:
    """The API with the custom resources that the chart uses, and a node that runs pods."""
    api = Api(ROOT / ".cache/bin/kubectl", kubeconfig)
    try:
        _define_custom_resources(api)
        node = stand_in.Node(api)
        node.start()
        yield api
        node.leave()
    finally:
        api.close()


@pytest.fixture(scope="session")
def helm(kubeconfig, tmp_path_factory) -> Helm:
    return Helm(ROOT / ".cache/bin/helm", kubeconfig, tmp_path_factory.mktemp("helm"))


@pytest.fixture
def releases(api, helm) -> Iterator[Releases]:
    """Installs releases for one test. Whatever the test has not uninstalled is uninstalled, and then all must be gone."""
    releases = Releases(api, helm, CHART)
    yield releases
    releases.uninstall_all()
    releases.assert_nothing_left()


def _define_custom_resources(api: Api) -> None:
    for file in sorted((Path(__file__).parent / "crds").glob("*.yaml")):
        definition = yaml.safe_load(file.read_text())
        if not any(kind["kind"] == definition["spec"]["names"]["kind"] for kind in _kinds_now(api, definition)):
            path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
            api.call("POST", path, definition, fieldValidation="Strict")


def _kinds_now(api: Api, definition: dict) -> list[dict]:
    group, version = definition["spec"]["group"], definition["spec"]["versions"][0]["name"]
    groups = {each["name"] for each in api.call("GET", "/apis")["groups"]}
    return api.call("GET", f"/apis/{group}/{version}")["resources"] if group in groups else []
