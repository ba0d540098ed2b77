import pytest
from lab import Lab
from stories import Stories


@pytest.fixture(scope="session")
def lab(tmp_path_factory):
    made = Lab(tmp_path_factory.mktemp("lab"))
    yield made
    made.stop()


@pytest.fixture(scope="session")
def stories(lab):
    told = Stories(lab)
    told.begin()
    yield told
    told.end()
