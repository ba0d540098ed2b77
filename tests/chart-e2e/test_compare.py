"""The comparison itself: it finds what the other tests rely on it to find, and takes the server's spelling for the same."""

import pytest

from compare import lost, remained


@pytest.mark.parametrize(
    "rendered, live, found",
    [
        ({"spec": {"replicas": 3}}, {"spec": {"replicas": 2}}, ["spec.replicas is 2, rendered as 3"]),
        ({"spec": {"path": "/"}}, {"spec": {}}, ["spec.path is missing, rendered as '/'"]),
        ({"ports": [{"port": 80}]}, {"ports": []}, ["ports is [], rendered as [{'port': 80}]"]),
        ({"value": "true"}, {"value": True}, ["value is True, rendered as 'true'"]),
        ({"memory": "64Mi"}, {"memory": "64M"}, ["memory is '64M', rendered as '64Mi'"]),
        ({"memory": "1024Mi", "cpu": 1, "half": "0.5"}, {"memory": "1Gi", "cpu": "1", "half": "500m"}, []),
        ({"labels": {}, "tls": None}, {}, []),
        ({"port": 80}, {"port": 80, "protocol": "TCP"}, []),
    ],
)
def test_a_field_that_was_rendered_and_is_not_there_is_named(rendered, live, found):
    assert list(lost(rendered, live)) == found


def test_a_field_of_an_earlier_revision_is_named():
    fresh = {"metadata": {"name": "made-anew", "labels": {"a": "1"}}, "spec": {"replicas": 1}}
    live = {"metadata": {"name": "x", "labels": {"a": "1", "old": "2"}}, "spec": {"replicas": 1, "paused": True}}
    assert list(remained(fresh, live)) == [
        "metadata.labels.old is '2', made anew it would not be there",
        "spec.paused is True, made anew it would not be there",
    ]


def test_what_helm_and_the_server_add_to_each_object_is_no_difference():
    fresh = {"metadata": {"name": "made-anew", "uid": "1"}, "spec": {"clusterIP": "10.96.0.1"}}
    live = {
        "metadata": {
            "name": "x",
            "uid": "2",
            "labels": {"app.kubernetes.io/managed-by": "Helm"},
            "annotations": {"meta.helm.sh/release-name": "r"},
        },
        "spec": {"clusterIP": "10.96.0.2"},
        "status": {"phase": "Active"},
    }
    assert list(remained(fresh, live)) == []
