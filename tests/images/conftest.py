"""The images that `make images` built, and the AWS that their containers call."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from aws import Moto, certificates
from container import Container, docker

ROOT = Path(__file__).resolve().parents[2]
SERVICES = ("producer", "consumer", "payments")
TENANT = "tenant-3"


@pytest.fixture(scope="session")
def revision():
    """The commit that the images were built from: IMAGE_REVISION, or HEAD."""
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    return os.environ.get("IMAGE_REVISION") or head


@pytest.fixture(scope="session")
def version(revision):
    """The tag that `make images` gave: IMAGE_VERSION, or dev-COMMIT."""
    return os.environ.get("IMAGE_VERSION") or f"dev-{revision[:12]}"


@pytest.fixture(scope="session")
def inspect():
    """What docker knows about an image."""
    return lambda name: json.loads(docker("image", "inspect", name))[0]


@pytest.fixture(scope="session")
def tls(tmp_path_factory):
    """Certificates of an authority that nobody but these tests knows."""
    return certificates(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="session")
def aws():
    """AWS over plain HTTP with one premium tenant."""
    server = Moto()
    server.tenant(TENANT)
    yield server
    server.stop()


@pytest.fixture(scope="session")
def aws_tls(tls):
    """AWS over TLS, with a certificate of our own authority."""
    server = Moto(tls)
    server.tenant(TENANT)
    yield server
    server.stop()


@pytest.fixture
def start(version):
    """Starts containers and takes them away after the test."""
    started = []

    def run(service, aws, image=None, **options):
        container = Container(image or f"{service}:{version}", TENANT, aws.endpoint, **options)
        started.append(container)
        return container

    yield run
    for container in started:
        container.remove()
