"""Every default of values.yaml taken away by null, one at a time: the chart renders without it, or says that it is needed."""

import pytest
import yaml

from conftest import CHART
from test_values import nothing_is_empty

DEFAULTS = yaml.safe_load((CHART / "values.yaml").read_text())


def paths(values, path=()):
    for key, value in values.items():
        yield (*path, key)
        if isinstance(value, dict):
            yield from paths(value, (*path, key))


@pytest.mark.parametrize("path", list(paths(DEFAULTS)), ids=".".join)
def test_a_default_that_is_taken_away_leaves_valid_objects_or_is_asked_for_by_name(helm4, path):
    values = {"tenantId": "acme"}
    section = values
    for key in path[:-1]:
        section = section.setdefault(key, {})
    section[path[-1]] = None
    done = helm4.run("template", "acme-premium", str(CHART), "-n", "acme", values=values)
    if done.returncode:
        assert path[-1] in done.stderr and "error calling" not in done.stderr, done.stderr
    else:
        for document in yaml.safe_load_all(done.stdout):
            nothing_is_empty(document or {})
            assert "<nil>" not in str(document)
