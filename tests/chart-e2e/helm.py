"""The real Helm binary, against one cluster and with a home of its own."""

import json
import os
import subprocess
from pathlib import Path

import yaml


class HelmFailed(Exception):
    """Helm ended with an error; the text is what it wrote."""


class Helm:
    def __init__(self, binary: Path, kubeconfig: str, home: Path):
        self._binary = binary
        # Helm 4 has to be told to wait as Flux does, until every object is as ready as its kind can say.
        self._wait = ("--wait" if binary.name == "helm3" else "--wait=watcher", "--timeout=90s")
        kept = {name: value for name, value in os.environ.items() if not name.startswith("HELM_")}
        self._environment = kept | {
            "KUBECONFIG": kubeconfig,
            "HELM_CACHE_HOME": str(home / "cache"),
            "HELM_CONFIG_HOME": str(home / "config"),
            "HELM_DATA_HOME": str(home / "data"),
        }

    def run(self, *arguments: str, values: dict | None = None) -> str:
        command = [str(self._binary), *arguments]
        given = None
        if values is not None:
            command.append("--values=-")
            given = yaml.safe_dump(values)
        done = subprocess.run(
            command, input=given, env=self._environment, capture_output=True, text=True, timeout=300, check=False
        )
        if done.returncode:
            raise HelmFailed(f"{' '.join(command[1:])}\n{done.stderr}{done.stdout}")
        return done.stdout

    def template(self, release: str, namespace: str, chart: Path, values: dict) -> list[dict]:
        """The objects that the chart renders to, without those of hooks."""
        text = self.run("template", release, str(chart), f"--namespace={namespace}", "--no-hooks", values=values)
        return placed(text, namespace)

    def upgrade(self, release: str, namespace: str, chart: Path, values: dict, *options: str) -> None:
        """Installs or upgrades, and waits until all is ready."""
        base = ("upgrade", release, str(chart), f"--namespace={namespace}", "--install", "--reset-values")
        self.run(*base, *self._wait, *options, values=values)

    def rollback(self, release: str, namespace: str, revision: int) -> None:
        self.run("rollback", release, str(revision), f"--namespace={namespace}", *self._wait)

    def uninstall(self, release: str, namespace: str, *options: str) -> None:
        self.run("uninstall", release, f"--namespace={namespace}", *self._wait, *options)

    def test(self, release: str, namespace: str) -> None:
        self.run("test", release, f"--namespace={namespace}", "--timeout=60s")

    def manifest(self, release: str, namespace: str) -> list[dict]:
        """The objects of the release's current revision, as Helm has stored them."""
        return placed(self.run("get", "manifest", release, f"--namespace={namespace}"), namespace)

    def history(self, release: str, namespace: str) -> list[dict]:
        return json.loads(self.run("history", release, f"--namespace={namespace}", "--output=json"))


def placed(text: str, namespace: str) -> list[dict]:
    """The documents of a manifest; one without a namespace gets the release's, as Helm does on sending it."""
    documents = [document for document in yaml.safe_load_all(text) if document]
    for document in documents:
        document["metadata"].setdefault("namespace", namespace)
    return documents
