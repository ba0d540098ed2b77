"""Fixtures of the delivery tests: a registry and a repository for each test, container storage for the whole run."""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from checkout import Checkout
from registry import Registry, free_port

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session", autouse=True)
def tools():
    """Everything that the tests call, installed where it is missing, on the PATH."""
    done = subprocess.run([ROOT / "tools/delivery"], stdout=subprocess.PIPE, text=True)
    assert done.returncode == 0, "tools/delivery could not get the tools; it says why above"
    os.environ["PATH"] = done.stdout.strip() + os.pathsep + os.environ["PATH"]


@pytest.fixture(scope="session", autouse=True)
def storage(tmp_path_factory):
    """buildah keeps what it builds in a folder of this run instead of the machine's."""
    folder = tmp_path_factory.mktemp("containers")
    config = folder / "storage.conf"
    config.write_text(f'[storage]\ndriver = "overlay"\nrunroot = "{folder}/run"\ngraphroot = "{folder}/graph"\n')
    os.environ["CONTAINERS_STORAGE_CONF"] = str(config)
    os.environ["BUILDAH_ISOLATION"] = "chroot"
    yield
    subprocess.run(["buildah", "rmi", "--all", "--force"], capture_output=True)
    subprocess.run(["umount", folder / "graph/overlay"], capture_output=True)


@pytest.fixture
def registry(tmp_path):
    """An empty registry."""
    folder = tmp_path / "registry"
    folder.mkdir()
    started = Registry(folder)
    yield started
    started.stop()


@pytest.fixture
def checkout(tmp_path):
    """A repository of our shape without a commit."""
    return Checkout(tmp_path)


@pytest.fixture(scope="session")
def endpoint():
    """A server of moto's on a free port."""
    port = free_port()
    process = subprocess.Popen(
        [Path(sys.executable).parent / "moto_server", "-H", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    end = time.monotonic() + 60
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            break
        except OSError:
            assert process.poll() is None and time.monotonic() < end, "moto_server did not start"
            time.sleep(0.1)
    yield f"http://127.0.0.1:{port}"
    process.terminate()
    process.wait()


@pytest.fixture
def account(endpoint, monkeypatch):
    """An account at that server, for boto3 here and for the aws command of the scripts."""
    for name, value in {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_REGION": "eu-central-1",
        "AWS_DEFAULT_REGION": "eu-central-1",
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_EC2_METADATA_DISABLED": "true",
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }.items():
        monkeypatch.setenv(name, value)
