"""The Kubernetes API as these tests use it: JSON over `kubectl proxy`, which knows how to sign in to any cluster."""

import http.client
import json
import os
import re
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

# Made by Kubernetes for its own use in every namespace, or a trail of what happened; never part of a release.
NOT_OF_A_RELEASE = {"Event", "Lease", "PodMetrics"}


class ApiError(Exception):
    """An answer other than 2xx; `status` is the HTTP status, the text is the server's own message."""

    def __init__(self, status: int, message: str):
        super().__init__(f"{status}: {message}")
        self.status = status


class Kind(dict):
    """One entry of the API's discovery, with the group and version that it was found under."""

    @property
    def base(self) -> str:
        version = self["apiVersion"]
        return f"/apis/{version}" if "/" in version else f"/api/{version}"


class Api:
    def __init__(self, kubectl: Path, kubeconfig: str):
        """`kubeconfig` is what the variable KUBECONFIG may hold: a file, or several with colons between."""
        environment = os.environ | {"KUBECONFIG": kubeconfig}
        self._proxy = subprocess.Popen(
            [kubectl, "proxy", "--port=0"], stdout=subprocess.PIPE, text=True, env=environment
        )
        first = self._proxy.stdout.readline()
        match = re.search(r"127\.0\.0\.1:(\d+)", first)
        if not match:
            raise RuntimeError(f"kubectl proxy did not start with {kubeconfig}: {first!r}")
        self._port = int(match[1])
        self._local = threading.local()
        self._kinds: list[Kind] | None = None

    def close(self) -> None:
        self._proxy.terminate()
        self._proxy.wait(timeout=10)

    def call(self, method: str, path: str, body: Any = None, content: str = "application/json", **query: str) -> Any:
        """One request; the decoded answer. Warnings of the server are kept in `warnings` until the next call."""
        if query:
            path += "?" + urlencode(query)
        headers = {"Accept": "application/json"}
        data = None
        if body is not None:
            headers["Content-Type"] = content
            data = json.dumps(body)
        answer, text = self._exchange(method, path, data, headers)
        for _ in range(30):  # the server asks to come back: over its limits, or a custom resource is being set up
            if answer.status != 429:
                break
            time.sleep(float(answer.headers.get("Retry-After", "1")))
            answer, text = self._exchange(method, path, data, headers)
        self._local.warnings = answer.headers.get_all("Warning") or []
        decoded = json.loads(text) if text[:1] in (b"{", b"[") else text.decode()
        if answer.status >= 300:
            message = decoded.get("message", "") if isinstance(decoded, dict) else decoded
            raise ApiError(answer.status, message)
        return decoded

    def _exchange(self, method: str, path: str, data: str | None, headers: dict) -> tuple[http.client.HTTPResponse, bytes]:
        for fresh in (False, True):  # the proxy may have closed an idle connection
            connection = self._connection(fresh)
            try:
                connection.request(method, path, data, headers)
                answer = connection.getresponse()
                return answer, answer.read()
            except (http.client.HTTPException, ConnectionError):
                if fresh:
                    raise
        raise AssertionError("unreachable")

    @property
    def warnings(self) -> list[str]:
        return self._local.warnings

    def kinds(self) -> list[Kind]:
        """All kinds that can be listed, each once, in the version the server prefers. Read once: add CRDs before."""
        if self._kinds is None:
            versions = ["v1"] + [
                group["preferredVersion"]["groupVersion"] for group in self.call("GET", "/apis")["groups"]
            ]
            found = []
            for version in versions:
                base = f"/apis/{version}" if "/" in version else f"/api/{version}"
                for entry in self.call("GET", base)["resources"]:
                    if "/" not in entry["name"] and "list" in entry["verbs"]:
                        found.append(Kind(entry, apiVersion=version))
            self._kinds = found  # at once and whole: the node's thread asks too
        return self._kinds

    def path(self, object_: dict, name: str | None = "") -> str:
        """The path of an object by its apiVersion, kind, namespace and name; of its collection with `name=None`."""
        version, kind = object_["apiVersion"], object_["kind"]
        entry = next((k for k in self.kinds() if k["kind"] == kind and k["apiVersion"] == version), None)
        assert entry, f"the cluster does not serve {version} {kind}"
        parts = [entry.base]
        if entry["namespaced"]:
            parts += ["namespaces", object_["metadata"]["namespace"]]
        parts.append(entry["name"])
        if name is not None:
            parts.append(name or object_["metadata"]["name"])
        return "/".join(parts)

    def get(self, object_: dict) -> dict:
        return self.call("GET", self.path(object_))

    def exists(self, object_: dict) -> bool:
        try:
            self.get(object_)
            return True
        except ApiError as error:
            if error.status == 404:
                return False
            raise

    def create(self, object_: dict, **query: str) -> dict:
        """Strict: a field that the server does not know is an error."""
        return self.call("POST", self.path(object_, None), object_, fieldValidation="Strict", **query)

    def delete(self, object_: dict, **query: str) -> None:
        try:
            self.call("DELETE", self.path(object_), propagationPolicy="Background", **query)
        except ApiError as error:
            if error.status != 404:
                raise

    def patch_status(self, object_: dict, status: dict) -> None:
        path = self.path(object_) + "/status"
        self.call("PATCH", path, {"status": status}, "application/merge-patch+json")

    def scale(self, object_: dict, replicas: int) -> None:
        """What `kubectl scale` does."""
        path = self.path(object_) + "/scale"
        self.call("PATCH", path, {"spec": {"replicas": replicas}}, "application/merge-patch+json")

    def objects(self, version: str, kind: str, namespace: str, **query: str) -> list[dict]:
        stub = {"apiVersion": version, "kind": kind, "metadata": {"namespace": namespace}}
        items = self.call("GET", self.path(stub, None), **query)["items"]
        return [{"apiVersion": version, "kind": kind} | item for item in items]

    def everything(self, namespaces: list[str]) -> list[dict]:
        """Each object of every kind in these namespaces, but for the kinds that no release makes."""
        found = []
        for kind in self.kinds():
            if not kind["namespaced"] or kind["kind"] in NOT_OF_A_RELEASE:
                continue
            for namespace in namespaces:
                found += self.objects(kind["apiVersion"], kind["kind"], namespace)
        return found

    def _connection(self, fresh: bool) -> http.client.HTTPConnection:
        if fresh or not hasattr(self._local, "connection"):
            self._local.connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        return self._local.connection


def eventually(what: str, condition: Callable[[], Any], within: float = 60) -> Any:
    """Asks until the condition is true and returns what it said; fails after `within` seconds with the last answer."""
    deadline = time.monotonic() + within
    while True:
        answer = condition()
        if answer:
            return answer
        assert time.monotonic() < deadline, f"not within {within} s: {what} (last answer: {answer!r})"
        time.sleep(0.1)
