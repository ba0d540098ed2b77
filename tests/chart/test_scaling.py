"""Who owns the number of pods, and which of them may go at once."""

import pytest

from conftest import acme, producer

QUEUE = "https://sqs.eu-west-1.amazonaws.com/123456789012/consumer-acme"


def consumer(**values):
    return {"tenantId": "acme", "apps": {"consumer": values, "producer": None}}


def test_replicas_are_the_deployments_until_a_scaler_owns_them(helm):
    assert helm.objects(producer(replicaCount=5)).one("Deployment")["spec"]["replicas"] == 5
    assert "replicas" not in helm.objects(producer(replicaCount=5, autoscaling={"enabled": True})).one("Deployment")["spec"]
    assert "replicas" not in helm.objects(consumer(keda={"enabled": True, "queueURL": QUEUE})).one("Deployment")["spec"]


@pytest.mark.parametrize("version", ["1.29", "1.33", "1.37"])
def test_the_autoscaler_is_v2_without_asking_the_cluster(helm, version):
    hpa = helm.objects(
        producer(autoscaling={"enabled": True, "maxReplicas": 100, "targetMemoryUtilizationPercentage": 70}), "--kube-version", version
    ).one("HorizontalPodAutoscaler")
    assert hpa["apiVersion"] == "autoscaling/v2"
    assert hpa["metadata"]["name"] == "acme-producer-hpa"
    assert hpa["spec"] == {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "acme-producer"},
        "minReplicas": 2,
        "maxReplicas": 100,
        "metrics": [
            {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}},
            {"type": "Resource", "resource": {"name": "memory", "target": {"type": "Utilization", "averageUtilization": 70}}},
        ],
    }


def test_the_default_requests_are_what_the_autoscaler_needs(helm):
    assert helm.objects(acme()).container("acme-producer")["resources"]["requests"]["cpu"] == "100m"


@pytest.mark.parametrize(
    "values, message",
    [
        (producer(autoscaling={"enabled": True}, resources={"requests": {"cpu": None}}),
         "apps.producer.autoscaling goes by cpu, in percent of the request, and there is none: set apps.producer.resources.requests.cpu"),
        (producer(autoscaling={"enabled": True, "targetMemoryUtilizationPercentage": 80}, resources={"requests": {"memory": None}, "limits": {"memory": None}}),
         "set apps.producer.resources.requests.memory"),
        (producer(autoscaling={"enabled": True, "minReplicas": 11}), "apps.producer.autoscaling.minReplicas 11 is above maxReplicas 10"),
        (producer(autoscaling={"enabled": True, "targetCPUUtilizationPercentage": None}), "apps.producer.autoscaling has nothing to go by"),
        (producer(autoscaling={"enabled": True, "minReplicas": 0}), "/apps/producer/autoscaling/minReplicas"),
        (consumer(autoscaling={"enabled": True}, keda={"enabled": True, "queueURL": QUEUE}),
         "apps.consumer.autoscaling.enabled and apps.consumer.keda.enabled are both true"),
        (consumer(keda={"enabled": True}), "apps.consumer.keda.queueURL is missing"),
        (consumer(keda={"enabled": True, "queueURL": "http://localhost:9324/queue/x"}), "apps.consumer.keda.awsRegion is missing"),
        (consumer(keda={"enabled": True, "queueURL": QUEUE, "minReplicas": 20}), "apps.consumer.keda.minReplicas 20 is above maxReplicas 10"),
        (producer(keda={"enabled": True, "queueURL": QUEUE}), "apps.producer.keda.enabled is true, but producer drains no queue"),
    ],
)
def test_a_scaler_that_could_not_scale_is_refused(helm, values, message):
    assert message in helm.refusal(values)


def test_a_limit_alone_is_a_request_too_and_enough_for_the_autoscaler(helm):
    values = producer(autoscaling={"enabled": True}, resources={"requests": {"cpu": None}, "limits": {"cpu": "1"}})
    assert helm.objects(values).one("HorizontalPodAutoscaler")


def test_keda_looks_at_the_queue_and_there_is_no_other_autoscaler(helm):
    objects = helm.objects(consumer(keda={"enabled": True, "queueURL": QUEUE, "queueLength": 1000000}))
    assert not objects.kind("HorizontalPodAutoscaler")
    assert objects.one("ScaledObject", "acme-consumer")["spec"] == {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "acme-consumer"},
        "pollingInterval": 15, "cooldownPeriod": 300, "minReplicaCount": 1, "maxReplicaCount": 10,
        "triggers": [{
            "type": "aws-sqs-queue",
            "metadata": {"queueURL": QUEUE, "queueLength": "1000000", "awsRegion": "eu-west-1", "identityOwner": "operator"},
        }],
    }


def test_keda_reads_the_queue_with_the_rights_that_it_is_given(helm):
    trigger = helm.objects(consumer(keda={
        "enabled": True, "queueURL": "https://sqs.cn-north-1.amazonaws.com.cn/123456789012/q",
        "authenticationRef": {"name": "sqs", "kind": "ClusterTriggerAuthentication"},
    })).one("ScaledObject")["spec"]["triggers"][0]
    assert trigger["metadata"]["awsRegion"] == "cn-north-1" and "identityOwner" not in trigger["metadata"]
    assert trigger["authenticationRef"] == {"name": "sqs", "kind": "ClusterTriggerAuthentication"}


@pytest.mark.parametrize(
    "values, exists",
    [
        (producer(replicaCount=3), True),
        (producer(replicaCount=2), True),
        (producer(replicaCount=1), False),
        (producer(replicaCount=0), False),
        (producer(replicaCount=9, autoscaling={"enabled": True, "minReplicas": 1}), False),
        (producer(replicaCount=1, autoscaling={"enabled": True, "minReplicas": 2}), True),
        (consumer(replicaCount=9, keda={"enabled": True, "queueURL": QUEUE}), False),
        (consumer(replicaCount=1, keda={"enabled": True, "queueURL": QUEUE, "minReplicas": 2}), True),
        (producer(podDisruptionBudget={"enabled": False}), False),
    ],
)
def test_a_budget_exists_where_two_pods_are_sure(helm, values, exists):
    budgets = helm.objects(values).kind("PodDisruptionBudget")
    assert len(budgets) == exists
    for budget in budgets:
        assert budget["spec"]["maxUnavailable"] == 1 and "minAvailable" not in budget["spec"]
        assert budget["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow"


@pytest.mark.parametrize(
    "budget, replicas, message",
    [
        ({"maxUnavailable": 0}, 3, "apps.producer.podDisruptionBudget.maxUnavailable is 0"),
        ({"maxUnavailable": "0%"}, 3, "apps.producer.podDisruptionBudget.maxUnavailable is 0%"),
        ({"minAvailable": 3}, 3, "apps.producer.podDisruptionBudget.minAvailable 3 of at least 3 pods lets none go"),
        ({"minAvailable": "100%"}, 3, "minAvailable 100% of at least 3 pods lets none go"),
        ({"minAvailable": "67%"}, 3, "minAvailable 67% of at least 3 pods lets none go"),
        ({"maxUnavailable": None}, 3, "says neither maxUnavailable nor minAvailable"),
    ],
)
def test_a_budget_that_would_block_every_drain_is_refused(helm, budget, replicas, message):
    assert message in helm.refusal(producer(replicaCount=replicas, podDisruptionBudget=budget))


@pytest.mark.parametrize("least", [2, "66%", "50%"])
def test_a_budget_may_say_how_many_stay(helm, least):
    spec = helm.objects(producer(podDisruptionBudget={"minAvailable": least})).one("PodDisruptionBudget")["spec"]
    assert spec["minAvailable"] == least and "maxUnavailable" not in spec
