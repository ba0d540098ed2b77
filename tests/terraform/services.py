"""The real services, started as the chart starts them: one process a deployment, signed in by its service account's token."""

import json
import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from gate import Gate, web_identity_token
from lab import ACCOUNT, REGION
from toolchain import ROOT

BINARIES = Path(os.environ.get("SERVICES_BIN", ROOT / "target" / "debug"))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def request(url: str, body: bytes | None = None, **headers: str) -> tuple[int, dict]:
    """Status and JSON of a GET, or of a POST when there is a body."""
    asked = urllib.request.Request(url, data=body, headers={name.replace("_", "-"): value for name, value in headers.items()})
    try:
        with urllib.request.urlopen(asked, timeout=30) as response:
            return response.status, json.loads(response.read() or b"null")
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read() or b"null")


def until(what: str, condition, seconds: float = 60):
    """The first true value of `condition`, asked every quarter of a second."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds:.0f} s: {what}")
        time.sleep(0.25)
    return value


@dataclass
class Service:
    """One deployment of one app in an environment."""

    app: str
    environment: str
    gate: Gate
    issuer: str
    folder: Path

    def start(self) -> "Service":
        self.port, self.admin_port = _free_port(), _free_port()
        token = self.folder / f"{self.environment}-{self.app}.jwt"
        token.write_text(web_identity_token(self.issuer, self.environment, self.app))
        self.log = self.folder / f"{self.environment}-{self.app}.log"
        environment = {
            "PATH": os.environ["PATH"],
            "ENVIRONMENT": self.environment,
            "HOST": "127.0.0.1",
            "PORT": str(self.port),
            "ADMIN_PORT": str(self.admin_port),
            "RECORD_READS": "on",
            "DRAIN_DELAY": "0",
            "AWS_REGION": REGION,
            "AWS_ENDPOINT_URL": self.gate.endpoint,
            "AWS_ROLE_ARN": f"arn:aws:iam::{ACCOUNT}:role/{self.app}-role-{self.environment}",
            "AWS_WEB_IDENTITY_TOKEN_FILE": str(token),
            "AWS_EC2_METADATA_DISABLED": "true",
        }
        with self.log.open("w") as log:
            self._process = subprocess.Popen([str(BINARIES / self.app)], env=environment, stdout=log, stderr=subprocess.STDOUT)
        until(f"{self.app} of {self.environment} is ready, see {self.log}", self._ready)
        return self

    def _ready(self) -> bool:
        if self._process.poll() is not None:
            raise AssertionError(f"{self.app} of {self.environment} ended with {self._process.returncode}:\n{self.log.read_text()[-2000:]}")
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{self.admin_port}/readyz", timeout=2).close()
            return True
        except OSError:
            return False

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/{self.app}"

    def terminate(self) -> None:
        self._process.terminate()

    def wait(self) -> int:
        """Exit code, once it has stopped."""
        try:
            return self._process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            raise
