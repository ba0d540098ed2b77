import pytest
from lab import Lab
from stories import Stories


@pytest.fixture(scope="session")
def lab(tmp_path_factory):
    made = Lab(tmp_path_factory.mktemp("lab"))
    yield made
    made.stop()


@pytest.fixture(scope="session")
def stories(lab, request):
    """The stories that the chosen tests need: a module's STORIES names its own, a module without it may hear any."""
    needs = [getattr(item.module, "STORIES", None) for item in request.session.items if "stories" in item.fixturenames]
    told = Stories(lab)
    told.begin(only=None if None in needs else set().union(*needs))
    yield told
    told.end()
