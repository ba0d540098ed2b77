"""Stands in for what the tests' control plane lacks: scheduler and kubelet of one node, and tofu-controller.

Pods of the tests' namespaces are bound, reported as ready with an address, and let go when deleted. A pod that runs to
completion (a helm test) succeeds or fails by what its arguments would meet: see `healthcheck.py`.
"""

import threading
from datetime import datetime, timezone

import namespaces
from api import Api, ApiError
from healthcheck import verdict

NAME = "chart-e2e"
LABELS = {"node-type": "applications", "kubernetes.io/hostname": NAME, "topology.kubernetes.io/zone": "eu-west-1a"}
TAINT = {"key": "applications", "value": "true", "effect": "NoSchedule"}


class Node(threading.Thread):
    def __init__(self, api: Api):
        super().__init__(name="node", daemon=True)
        self._api = api
        self._leaving = threading.Event()
        self._addresses = 0
        self.fault: Exception | None = None

    def run(self) -> None:
        try:
            self._join()
            beats = 0
            while not self._leaving.wait(0.1):
                if beats % 100 == 0:
                    self._heartbeat()
                beats += 1
                self._step()
        except Exception as fault:  # noqa: BLE001 - the session's fixture raises it where pytest sees it
            self.fault = fault

    def leave(self) -> None:
        self._leaving.set()
        self.join(timeout=30)
        self._api.delete({"apiVersion": "v1", "kind": "Node", "metadata": {"name": NAME}})
        if self.fault:
            raise self.fault

    def _join(self) -> None:
        node = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": NAME, "labels": LABELS},
            "spec": {"taints": [TAINT]},
        }
        self._api.delete(node)
        self._api.create(node)
        room = {"cpu": "64", "memory": "256Gi", "pods": "500"}
        ready = {"type": "Ready", "status": "True", "reason": "StandIn", "lastHeartbeatTime": _now()}
        self._api.patch_status(node, {"capacity": room, "allocatable": room, "conditions": [ready]})

    def _heartbeat(self) -> None:
        """Where a cluster of its own watches its nodes, one without a fresh lease would lose its pods."""
        lease = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": NAME, "namespace": "kube-node-lease"},
            "spec": {
                "holderIdentity": NAME,
                "leaseDurationSeconds": 40,
                "renewTime": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            },
        }
        path = self._api.path(lease)
        self._api.call("PATCH", path, lease, "application/apply-patch+yaml", fieldManager=NAME, force="true")

    def _step(self) -> None:
        ours = namespaces.ours(self._api)
        for pod in self._api.call("GET", "/api/v1/pods")["items"]:
            if pod["metadata"]["namespace"] in ours:
                _unless_gone(self._care_for, {"apiVersion": "v1", "kind": "Pod"} | pod)
        for terraform in self._api.call("GET", "/apis/infra.contrib.fluxcd.io/v1alpha2/terraforms")["items"]:
            if terraform["metadata"]["namespace"] in ours:
                _unless_gone(self._reconcile, terraform)

    def _care_for(self, pod: dict) -> None:
        meta, spec, status = pod["metadata"], pod["spec"], pod["status"]
        if "deletionTimestamp" in meta:
            if spec.get("nodeName") == NAME:
                self._api.call("DELETE", self._api.path(pod), gracePeriodSeconds="0")
        elif not spec.get("nodeName"):
            if fits(spec):
                target = {"apiVersion": "v1", "kind": "Node", "name": NAME}
                binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": meta["name"]}, "target": target}
                self._api.call("POST", self._api.path(pod) + "/binding", binding)
        elif spec["nodeName"] == NAME and status["phase"] == "Pending":
            self._start_pod(pod)

    def _start_pod(self, pod: dict) -> None:
        self._addresses += 1
        address = f"10.244.{self._addresses // 250}.{self._addresses % 250 + 1}"
        phase = "Running"
        state = {"running": {"startedAt": _now()}}
        if pod["spec"]["restartPolicy"] == "Never":
            refusal = verdict(self._api, pod)
            phase = "Failed" if refusal else "Succeeded"
            state = {"terminated": {"exitCode": 1 if refusal else 0, "reason": refusal or "Completed"}}
        running = phase == "Running"
        conditions = [("Initialized", True), ("PodScheduled", True), ("ContainersReady", running), ("Ready", running)]
        self._api.patch_status(
            pod,
            {
                "phase": phase,
                "podIP": address,
                "podIPs": [{"ip": address}],
                "startTime": _now(),
                "conditions": [
                    {"type": kind, "status": str(true), "lastTransitionTime": _now()} for kind, true in conditions
                ],
                "containerStatuses": [
                    {
                        "name": container["name"],
                        "image": container["image"],
                        "imageID": "",
                        "ready": running,
                        "started": running,
                        "restartCount": 0,
                        "state": state,
                    }
                    for container in pod["spec"]["containers"]
                ],
            },
        )

    def _reconcile(self, terraform: dict) -> None:
        """Whoever waits for the object (Helm does) waits until its controller has applied this generation."""
        generation = terraform["metadata"]["generation"]
        if terraform.get("status", {}).get("observedGeneration") != generation:
            ready = {"type": "Ready", "status": "True", "reason": "TerraformAppliedSucceed", "message": "applied"}
            ready |= {"lastTransitionTime": _now(), "observedGeneration": generation}
            self._api.patch_status(terraform, {"observedGeneration": generation, "conditions": [ready]})


def fits(spec: dict) -> bool:
    """Whether the node has the labels that the pod asks for, and the pod tolerates the node's taint."""
    if not (spec.get("nodeSelector") or {}).items() <= LABELS.items():
        return False
    for each in spec.get("tolerations", []):
        same_effect = each.get("effect") in (None, "", TAINT["effect"])
        if each.get("operator") == "Exists":
            same = each.get("key") in (None, "", TAINT["key"])
        else:
            same = (each.get("key"), each.get("value")) == (TAINT["key"], TAINT["value"])
        if same and same_effect:
            return True
    return False


def _unless_gone(action, object_: dict) -> None:
    try:
        action(object_)
    except ApiError as error:
        if error.status not in (404, 409):  # gone meanwhile, or changed: the next round sees it anew
            raise


def _now() -> str:
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
