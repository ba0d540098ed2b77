"""One control plane for the whole run, or the cluster of KUBECONFIG; and tenants that must leave nothing behind."""

import os
from pathlib import Path
from typing import Iterator

import pytest
import yaml

pytest.register_assert_rewrite("api", "compare", "releases")

import namespaces
import node as stand_in
from api import Api, ApiError, eventually
from controlplane import ROOT, ControlPlane
from helm import Helm
from releases import Releases

CHART = ROOT / "helm-tenant-chart"


@pytest.fixture(scope="session")
def kubeconfig(tmp_path_factory) -> Iterator[str]:
    given = os.environ.get("KUBECONFIG")
    if given:
        yield given
        return
    plane = ControlPlane(tmp_path_factory.mktemp("controlplane"))
    plane.start()
    yield str(plane.kubeconfig)
    plane.stop()


@pytest.fixture(scope="session")
def api(kubeconfig) -> Iterator[Api]:
    """The API with the custom resources that the chart uses, and a node that runs pods."""
    api = Api(ROOT / ".cache/bin/kubectl", kubeconfig)
    try:
        namespaces.make(api, namespaces.TERRAFORM, {})
        _define_custom_resources(api)
        node = stand_in.Node(api)
        node.start()
        yield api
        namespaces.delete_all(api)
        node.leave()
    finally:
        api.close()


@pytest.fixture(scope="session")
def helm(kubeconfig, tmp_path_factory) -> Helm:
    return Helm(ROOT / ".cache/bin/helm", kubeconfig, tmp_path_factory.mktemp("helm"))


@pytest.fixture(scope="session")
def helm3(kubeconfig, tmp_path_factory) -> Helm:
    return Helm(ROOT / ".cache/bin/helm3", kubeconfig, tmp_path_factory.mktemp("helm3"))


@pytest.fixture
def releases(api, helm) -> Iterator[Releases]:
    """Installs releases for one test. Whatever the test has not uninstalled is uninstalled, and then all must be gone."""
    releases = Releases(api, helm, CHART)
    yield releases
    releases.uninstall_all()
    releases.assert_nothing_left()


def _define_custom_resources(api: Api) -> None:
    """Adds our own definitions; a cluster that has the real ones keeps them."""
    collection = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    for file in sorted((Path(__file__).parent / "crds").glob("*.yaml")):
        definition = yaml.safe_load(file.read_text())
        name = definition["metadata"]["name"]
        try:
            api.call("POST", collection, definition, fieldValidation="Strict")
        except ApiError as error:
            if error.status != 409:
                raise

        def established() -> bool:
            conditions = api.call("GET", f"{collection}/{name}").get("status", {}).get("conditions") or []
            return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)

        eventually(f"{name} is established", established)
        spec = definition["spec"]
        path = f"/apis/{spec['group']}/{spec['versions'][0]['name']}/{spec['names']['plural']}"
        eventually(f"{name} is served", lambda: _answers(api, path))


def _answers(api: Api, path: str) -> bool:
    try:
        api.call("GET", path)
        return True
    except ApiError as error:
        if error.status != 404:
            raise
        return False
