import shutil
from pathlib import Path

import pytest
import toolchain
from lab import Lab
from stories import Stories


@pytest.fixture(scope="session")
def lab():
    folder = toolchain.CACHE / "terraform" / "lab"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    made = Lab(Path(folder))
    yield made
    made.stop()


@pytest.fixture(scope="session")
def stories(lab):
    told = Stories(lab)
    told.begin()
    yield told
    told.end()
