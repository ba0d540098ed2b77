"""The tests may be pointed at any cluster, so they must not touch what is somebody else's there."""

import pytest

import namespaces


def test_a_namespace_that_the_tests_did_not_make_is_left_alone(api):
    name = "somebody-elses"
    api.call("POST", namespaces.PATH, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    try:
        with pytest.raises(namespaces.NotOurCluster, match="somebody-elses that these tests did not make"):
            namespaces.make(api, name, {})
        assert name not in namespaces.ours(api)
    finally:
        api.call("DELETE", f"{namespaces.PATH}/{name}")
