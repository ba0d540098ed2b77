"""A real registry (the distribution project's, as Debian packages it) on a free loopback port, for one test."""

import json
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

CONFIG = """\
version: 0.1
log: {{level: warn, accesslog: {{disabled: true}}}}
storage:
  filesystem: {{rootdirectory: {data}}}
  delete: {{enabled: true}}
http: {{addr: "127.0.0.1:{port}"}}
"""


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Registry:
    """Start it, use `host` as the registry's name, stop it. With `htpasswd` it asks for a password."""

    def __init__(self, folder: Path, htpasswd: str | None = None):
        self.port = free_port()
        self.host = f"127.0.0.1:{self.port}"
        self.data = folder / "data"
        text = CONFIG.format(data=self.data, port=self.port)
        if htpasswd:
            (folder / "htpasswd").write_text(htpasswd)
            text += f"auth: {{htpasswd: {{realm: test, path: {folder}/htpasswd}}}}\n"
        config = folder / "config.yml"
        config.write_text(text)
        self.log = open(folder / "registry.log", "wb")
        environment = {k: v for k, v in os.environ.items() if not k.startswith("REGISTRY_")}
        self.process = subprocess.Popen(
            ["docker-registry", "serve", str(config)], stdout=self.log, stderr=self.log, env=environment
        )
        self._wait()

    def _wait(self) -> None:
        end = time.monotonic() + 20
        while time.monotonic() < end:
            if self.process.poll() is not None:
                break
            try:
                urllib.request.urlopen(f"http://{self.host}/v2/", timeout=2)
                return
            except urllib.error.HTTPError as answer:
                if answer.code == 401:
                    return
            except OSError:
                time.sleep(0.05)
        raise RuntimeError(f"docker-registry did not start: {Path(self.log.name).read_text()}")

    def stop(self) -> None:
        """Ends the process; the data stay until the test's folder goes."""
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()

    def tags(self, repository: str) -> list[str]:
        """The tags of the repository's images in order of name; none when nothing was ever pushed."""
        return [tag for tag in self.all_tags(repository) if not tag.startswith("sbom-")]

    def all_tags(self, repository: str) -> list[str]:
        """The repository's tags, the lists of contents among them."""
        try:
            with urllib.request.urlopen(f"http://{self.host}/v2/{repository}/tags/list", timeout=10) as answer:
                return sorted(json.load(answer)["tags"] or [])
        except urllib.error.HTTPError as answer:
            if answer.code == 404:
                return []
            raise

    def get(self, path: str, accept: str) -> dict:
        """A document of the registry's API."""
        request = urllib.request.Request(f"http://{self.host}/v2/{path}", headers={"Accept": accept})
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)

    def configs(self, repository: str, tag: str) -> dict[str, dict]:
        """The image's configuration by platform, such as linux/arm64."""
        index = "application/vnd.oci.image.index.v1+json"
        manifest = "application/vnd.oci.image.manifest.v1+json"
        found = {}
        for entry in self.get(f"{repository}/manifests/{tag}", index)["manifests"]:
            image = self.get(f"{repository}/manifests/{entry['digest']}", manifest)
            name = f"{entry['platform']['os']}/{entry['platform']['architecture']}"
            found[name] = self.get(f"{repository}/blobs/{image['config']['digest']}", "*/*")
        return found
