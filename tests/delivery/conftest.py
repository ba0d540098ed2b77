"""Fixtures of the delivery tests: a registry and a repository for each test, container storage for the whole run."""

import os
import subprocess
from pathlib import Path

import pytest
from checkout import Checkout
from registry import Registry

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
