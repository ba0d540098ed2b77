"""Releases of the chart in the cluster: made, checked as a whole, and taken away without a trace."""

import copy
from pathlib import Path

import yaml

import namespaces
from api import Api, eventually
from compare import assert_as_rendered, identity
from healthcheck import addresses
from helm import Helm


class Releases:
    """The releases of one test. Each tenant and pool has a namespace where Pod Security `restricted` is enforced."""

    def __init__(self, api: Api, helm: Helm, chart: Path):
        self.api, self.helm, self.chart = api, helm, chart
        self._installed: list[tuple[str, str]] = []
        self._namespaces: list[str] = []
        self.make_namespace(namespaces.TERRAFORM, {})

    def values(self, tier: str, tenant: str, pool: str = "pool-1") -> dict:
        """The chart's own example of a tier (or of a pool) for another tenant, and of another pool."""
        values = yaml.safe_load((self.chart / "ci" / f"{tier}.yaml").read_text())
        values["tenantId"] = tenant
        for app in values["apps"].values():
            if "envId" in app:
                app["envId"] = pool
        return values

    def apply(
        self,
        values: dict,
        release: str,
        *options: str,
        namespace: str | None = None,
        chart: Path | None = None,
        helm: Helm | None = None,
    ) -> list[dict]:
        """Installs or upgrades, waits until all is ready, and gives the objects that were rendered."""
        tenant = values["tenantId"]
        pools = {app["envId"] for app in values["apps"].values() if app and "envId" in app}
        for name in {tenant, *pools, namespace or tenant}:
            self.make_namespace(name, namespaces.RESTRICTED)
        namespace = namespace or tenant
        if (release, namespace) not in self._installed:
            self._installed.append((release, namespace))
        (helm or self.helm).upgrade(release, namespace, chart or self.chart, values, *options)
        return self.helm.manifest(release, namespace)

    def namespace_of(self, release: str) -> str:
        return next(namespace for name, namespace in self._installed if name == release)

    def uninstall(self, release: str, namespace: str) -> None:
        self._installed.remove((release, namespace))
        self.helm.uninstall(release, namespace)

    def uninstall_all(self) -> None:
        """Last in, first out; one that a failed test did not come to install has nothing to uninstall."""
        for release, namespace in reversed(self._installed):
            self.helm.uninstall(release, namespace, "--ignore-not-found")
        self._installed.clear()

    def assert_whole(self, release: str, rendered: list[dict]) -> None:
        """The cluster holds this release as rendered, no object of it that is rendered no more, and its pods run."""
        assert_as_rendered(self.api, rendered)
        held = {
            identity(each)
            for each in self.api.everything(self._namespaces)
            if each["metadata"].get("annotations", {}).get("meta.helm.sh/release-name") == release
            and not each["metadata"].get("ownerReferences")  # a ReplicaSet copies its Deployment's annotations
        }
        assert held == {identity(each) for each in rendered}
        for deployment in self._of_kind(rendered, "Deployment"):
            self.assert_pods(deployment)
        for service in self._of_kind(rendered, "Service"):
            self.assert_leads_to_pods(service)
        for ingress in self._of_kind(rendered, "Ingress"):
            self.assert_route(ingress)

    def assert_pods(self, deployment: dict) -> None:
        """Pods of its newest template run, as many as it wants, and no others: Pod Security and quotas let them in."""
        image = deployment["spec"]["template"]["spec"]["containers"][0]["image"]

        def settled() -> bool:
            wanted = self.api.get(deployment)["spec"]["replicas"]
            pods = self.pods(deployment["metadata"]["namespace"], deployment["spec"]["selector"]["matchLabels"])
            states = [(pod["status"]["phase"], pod["spec"]["containers"][0]["image"]) for pod in pods]
            return states == [("Running", image)] * wanted

        eventually(f"{identity(deployment)} has its pods of {image} and no others", settled)

    def assert_leads_to_pods(self, service: dict) -> None:
        """Behind a Service are the pods of exactly one Deployment, all of them, on the port that serves tenants."""
        meta = service["metadata"]
        selector = service["spec"]["selector"].items()

        def behind() -> bool:
            chosen = [
                each
                for each in self.api.objects("apps/v1", "Deployment", meta["namespace"])
                if selector <= each["spec"]["template"]["metadata"]["labels"].items()
            ]
            if len(chosen) != 1:
                return False
            pods = self.pods(meta["namespace"], chosen[0]["spec"]["selector"]["matchLabels"])
            want = {f"{pod['status'].get('podIP')}:8080" for pod in pods}
            return bool(want) and addresses(self.api, meta["namespace"], meta["name"], "http") == want

        eventually(f"{identity(service)} leads to all pods of one Deployment", behind)

    def assert_route(self, ingress: dict) -> None:
        """Each path leads to a Service beside the Ingress, on a port that it has, under a condition for that Service."""
        meta = ingress["metadata"]
        for rule in ingress["spec"]["rules"]:
            for path in rule["http"]["paths"]:
                backend = path["backend"]["service"]
                found = self.api.call("GET", f"/api/v1/namespaces/{meta['namespace']}/services/{backend['name']}")
                assert backend["port"]["number"] in {port["port"] for port in found["spec"]["ports"]}
                assert f"alb.ingress.kubernetes.io/conditions.{backend['name']}" in meta["annotations"]

    def pods(self, namespace: str, labels: dict) -> list[dict]:
        selector = ",".join(f"{key}={value}" for key, value in labels.items())
        return self.api.objects("v1", "Pod", namespace, labelSelector=selector)

    def assert_nothing_left(self) -> None:
        """No object of any kind in any of the namespaces, but those that Kubernetes puts into each."""

        def gone() -> bool:
            self._left = sorted(
                identity(each)
                for each in self.api.everything(self._namespaces)
                if identity(each).replace(f"{each['metadata']['namespace']}/", "") not in namespaces.EVERYWHERE
            )
            return not self._left

        try:
            eventually("nothing is left", gone)
        except AssertionError:
            raise AssertionError("left over after uninstalling:\n" + "\n".join(self._left)) from None

    def make_namespace(self, name: str, labels: dict) -> None:
        """Makes the namespace unless it is there; its leftovers count."""
        namespaces.make(self.api, name, labels)
        if name not in self._namespaces:
            self._namespaces.append(name)

    def _of_kind(self, rendered: list[dict], kind: str) -> list[dict]:
        return [each for each in rendered if each["kind"] == kind]


def with_image(values: dict, tag: str, replicas: int) -> dict:
    """The same values with another image tag and number of pods for each app."""
    changed = copy.deepcopy(values)
    for app in changed["apps"].values():
        app |= {"image": {"repository": "123456789012.dkr.ecr.eu-west-1.amazonaws.com/app", "tag": tag}}
        app |= {"replicaCount": replicas}
    return changed
