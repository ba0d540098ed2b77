"""The pods: restricted, probed, stopped without a lost request, configured."""

import pytest

from conftest import TIERS, acme, producer, tier

RESTRICTED_CONTAINER = {
    "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]},
}


def pods_of_every_tier(helm):
    for name in TIERS:
        values, where = tier(name)
        values["apps"]["payments"] = {"enabled": name != "basic"}
        objects = helm.objects(values, tests=True, **where)
        for deployment in objects.kind("Deployment"):
            yield deployment["spec"]["template"]["spec"]
        for pod in objects.kind("Pod"):
            yield pod["spec"]


def test_every_pod_meets_the_restricted_standard_as_a_numeric_user(helm):
    pods = list(pods_of_every_tier(helm))
    assert len(pods) == 3 + 0 + 2 + 3 + 1 + 2  # workloads, then the tests of those that have a Service
    for pod in pods:
        assert pod["securityContext"] == {
            "runAsNonRoot": True, "runAsUser": 65532, "runAsGroup": 65532, "fsGroup": 65532,
            "seccompProfile": {"type": "RuntimeDefault"},
        }
        (container,) = pod["containers"]
        assert container["securityContext"] == RESTRICTED_CONTAINER
        assert pod["automountServiceAccountToken"] is False
        assert pod["enableServiceLinks"] is False
        assert not {"hostNetwork", "hostPID", "hostIPC", "initContainers"} & set(pod)


def test_no_pod_runs_a_command_that_the_image_would_have_to_bring(helm):
    for pod in pods_of_every_tier(helm):
        (container,) = pod["containers"]
        assert "command" not in container and "lifecycle" not in container
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            assert "exec" not in container.get(probe, {})


def test_tenants_and_operators_have_ports_apart(helm):
    objects = helm.objects(acme())
    ports = {p["name"]: p["containerPort"] for p in objects.container("acme-producer")["ports"]}
    assert ports == {"http": 8080, "admin": 9090}
    (port,) = objects.one("Service", "acme-producer")["spec"]["ports"]
    assert (port["port"], port["targetPort"]) == (80, "http")


def test_the_ports_are_values_that_the_process_and_the_policy_are_told_too(helm):
    objects = helm.objects(producer(containerPort=8081, adminPort=9091, service={"port": 8000}))
    assert objects.env("acme-producer")["PORT"] == "8081"
    assert objects.env("acme-producer")["ADMIN_PORT"] == "9091"
    policy = objects.one("NetworkPolicy")["spec"]["ingress"]
    assert [rule["ports"][0]["port"] for rule in policy] == [8081, 9091]
    assert objects.one("Ingress")["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]["port"] == {"number": 8000}


def test_one_port_for_both_is_refused(helm):
    assert "apps.producer.containerPort and adminPort are both 9090" in helm.refusal(producer(containerPort=9090))


def test_the_three_probes_are_asked_on_the_admin_port(helm):
    container = helm.objects(acme()).container("acme-consumer")
    assert container["startupProbe"] == {
        "httpGet": {"path": "/livez", "port": "admin"}, "periodSeconds": 1, "timeoutSeconds": 3, "failureThreshold": 60,
    }
    assert container["livenessProbe"]["httpGet"] == {"path": "/livez", "port": "admin"}
    assert container["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "admin"}


def test_probes_are_values(helm):
    container = helm.objects(producer(probes={
        "startup": {"enabled": False},
        "liveness": {"path": "/health", "port": 8080, "initialDelaySeconds": 4, "periodSeconds": 7, "timeoutSeconds": 2, "failureThreshold": 9},
    })).container("acme-producer")
    assert "startupProbe" not in container
    assert container["livenessProbe"] == {
        "httpGet": {"path": "/health", "port": 8080},
        "initialDelaySeconds": 4, "periodSeconds": 7, "timeoutSeconds": 2, "failureThreshold": 9,
    }


def seconds(text: str) -> int:
    assert text.endswith("s")
    return int(text[:-1])


def test_drain_delay_deregistration_delay_and_grace_period_agree(helm):
    objects = helm.objects(acme())
    env = objects.env("acme-producer")
    drain, request, shutdown = (seconds(env[n]) for n in ("DRAIN_DELAY", "REQUEST_TIMEOUT", "SHUTDOWN_TIMEOUT"))
    attributes = objects.one("Ingress", "acme-ingress-producer")["metadata"]["annotations"][
        "alb.ingress.kubernetes.io/target-group-attributes"
    ]
    deregistration = int(attributes.removeprefix("deregistration_delay.timeout_seconds="))
    grace = objects.pod("acme-producer")["terminationGracePeriodSeconds"]
    assert (deregistration, drain, request, shutdown, grace) == (15, 20, 10, 45, 50)
    assert deregistration <= drain and drain + request < shutdown and grace == shutdown + 5


def test_the_grace_period_follows_the_shutdown_timeout(helm):
    objects = helm.objects(producer(shutdown={"timeoutSeconds": 90}))
    assert objects.env("acme-producer")["SHUTDOWN_TIMEOUT"] == "90s"
    assert objects.pod("acme-producer")["terminationGracePeriodSeconds"] == 95


def test_delays_that_would_lose_requests_are_refused(helm):
    message = helm.refusal(producer(shutdown={"drainDelaySeconds": 10}))
    assert "apps.producer.shutdown.deregistrationDelaySeconds is 15 and drainDelaySeconds 10" in message
    message = helm.refusal(producer(shutdown={"timeoutSeconds": 30}))
    assert "apps.producer.shutdown.timeoutSeconds is 30 and must be more than drainDelaySeconds 20 and requestTimeoutSeconds 10 together" in message


def test_a_rollout_takes_no_pod_away_before_another_is_ready(helm):
    strategy = helm.objects(acme()).one("Deployment", "acme-producer")["spec"]["strategy"]
    assert strategy == {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    message = helm.refusal(producer(rollout={"maxSurge": "0%"}))
    assert "apps.producer.rollout.maxSurge and maxUnavailable are both 0" in message


def test_pods_spread_over_zones_and_nodes_by_their_own_selector(helm):
    deployment = helm.objects(acme()).one("Deployment", "acme-producer")
    constraints = deployment["spec"]["template"]["spec"]["topologySpreadConstraints"]
    assert [c["topologyKey"] for c in constraints] == ["topology.kubernetes.io/zone", "kubernetes.io/hostname"]
    for constraint in constraints:
        assert constraint["labelSelector"]["matchLabels"] == deployment["spec"]["selector"]["matchLabels"]
        assert constraint["whenUnsatisfiable"] == "ScheduleAnyway"


def test_the_process_knows_its_tenant_and_its_pod(helm):
    objects = helm.objects(acme())
    env = objects.container("acme-producer")["env"]
    fields = {e["name"]: e["valueFrom"]["fieldRef"]["fieldPath"] for e in env if "valueFrom" in e}
    assert fields == {
        "POD_NAME": "metadata.name", "POD_NAMESPACE": "metadata.namespace", "POD_UID": "metadata.uid",
        "POD_IP": "status.podIP", "POD_NODE_NAME": "spec.nodeName",
    }
    plain = objects.env("acme-producer")
    assert plain["ENVIRONMENT"] == "acme"
    assert plain["OTEL_SERVICE_NAME"] == "producer"
    attributes = dict(pair.split("=") for pair in plain["OTEL_RESOURCE_ATTRIBUTES"].split(","))
    assert attributes["k8s.pod.name"] == "$(POD_NAME)"
    assert attributes["service.version"] == "0.1.0"
    assert attributes["deployment.environment.name"] == "acme"
    # A reference is filled in only when the name stands before it.
    names = [e["name"] for e in env]
    assert all(names.index(f) < names.index("OTEL_RESOURCE_ATTRIBUTES") for f in fields)


def test_settings_are_plain_values_and_keep_what_was_typed(helm):
    env = helm.objects("""
tenantId: acme
awsRegion: eu-west-1
apps:
  consumer:
    settings: {MAX_IN_FLIGHT: 1000000, RECORD_READS: "on", VISIBILITY_TIMEOUT: 30s, RATIO: 0.25, DEBUG: true, GONE: null, BIG: 20240506070809}
    extraEnv:
      - {name: AUTH_KEY, valueFrom: {secretKeyRef: {name: auth, key: key}}}
      - {name: PLAIN, value: "1"}
""").env("acme-consumer")
    assert {n: env[n] for n in ("MAX_IN_FLIGHT", "RECORD_READS", "VISIBILITY_TIMEOUT", "RATIO", "DEBUG", "BIG", "PLAIN", "AWS_REGION")} == {
        "MAX_IN_FLIGHT": "1000000", "RECORD_READS": "on", "VISIBILITY_TIMEOUT": "30s", "RATIO": "0.25", "DEBUG": "true",
        "BIG": "20240506070809", "PLAIN": "1", "AWS_REGION": "eu-west-1",
    }
    assert "GONE" not in env and "AUTH_KEY" in env
    assert env["AWS_EC2_METADATA_DISABLED"] == "true"


@pytest.mark.parametrize(
    "values, message",
    [
        (producer(settings={"ENVIRONMENT": "other"}), "apps.producer.settings must not set ENVIRONMENT"),
        (producer(settings={"DRAIN_DELAY": "1s"}), "apps.producer.settings must not set DRAIN_DELAY"),
        (producer(extraEnv=[{"name": "POD_IP", "value": "x"}]), "apps.producer.extraEnv must not set POD_IP: it is set already by the chart"),
        (producer(settings={"A": 1}, extraEnv=[{"name": "A", "value": "2"}]), "apps.producer.extraEnv must not set A: it is set already by apps.producer.settings"),
        (producer(extraEnv=[{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]), "apps.producer.extraEnv must not set A"),
        (producer(extraEnv=[{"name": "A", "value": "1", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]), "apps.producer.extraEnv: A has a value and a valueFrom"),
        ({**producer(settings={"AWS_REGION": "eu-west-1"}), "awsRegion": "eu-west-2"}, "apps.producer.settings must not set AWS_REGION"),
        (producer(settings={"BIG": 20240506070809123456}), "apps.producer.settings.BIG is a number too long to be exact"),
    ],
)
def test_a_variable_that_would_be_given_twice_or_wrong_is_refused(helm, values, message):
    assert message in helm.refusal(values)


def test_a_region_may_be_a_setting_while_the_value_is_empty(helm):
    assert helm.objects(producer(settings={"AWS_REGION": "eu-west-1"})).env("acme-producer")["AWS_REGION"] == "eu-west-1"


@pytest.mark.parametrize("values", [
    producer(podSecurityContext={"runAsUser": 0}),
    producer(podSecurityContext={"runAsUser": 0, "runAsNonRoot": True}),
    producer(securityContext={"runAsUser": 0}),
])
def test_root_and_not_root_at_once_is_refused(helm, values):
    assert "runAsUser is 0 (root) while runAsNonRoot is true" in helm.refusal(values)


@pytest.mark.parametrize("label", ["app", "app.kubernetes.io/name", "app.kubernetes.io/instance", "tenant"])
def test_labels_that_selectors_read_cannot_be_replaced(helm, label):
    assert f"apps.producer.podLabels must not set {label}" in helm.refusal(producer(podLabels={label: "x"}))
    assert f"commonLabels must not set {label}" in helm.refusal(acme(commonLabels={label: "x"}))


def test_a_new_label_or_tag_leaves_the_selector_alone(helm):
    old = helm.objects(producer(image={"tag": "a"})).one("Deployment")
    new = helm.objects(producer(image={"tag": "b"}, podLabels={"team": "x"})).one("Deployment")
    assert old["spec"]["selector"] == new["spec"]["selector"]
    assert old["spec"]["template"] != new["spec"]["template"]


@pytest.mark.parametrize(
    "values, annotations",
    [
        (acme(awsAccountId="123456789012"), "arn:aws:iam::123456789012:role/producer-role-acme"),
        (acme(awsAccountId="123456789012", awsPartition="aws-cn"), "arn:aws-cn:iam::123456789012:role/producer-role-acme"),
        (acme(awsAccountId="123456789012", awsPartition="aws-us-gov"), "arn:aws-us-gov:iam::123456789012:role/producer-role-acme"),
        (acme(awsAccountId="123456789012", podIdentity=True), None),
        (acme(), None),
        (producer(serviceAccount={"roleArn": "arn:aws:iam::123456789012:role/path/other"}), "arn:aws:iam::123456789012:role/path/other"),
    ],
)
def test_the_service_account_names_the_tenants_role_or_none(helm, values, annotations):
    account = helm.objects(values).one("ServiceAccount", "acme-producer")
    assert account["metadata"]["namespace"] == "acme"
    assert account["metadata"].get("annotations", {}).get("eks.amazonaws.com/role-arn") == annotations
    assert account["automountServiceAccountToken"] is False
    assert helm.objects(values).pod("acme-producer")["serviceAccountName"] == "acme-producer"


def test_an_account_made_elsewhere_can_be_used_but_not_a_made_one_renamed(helm, helm4):
    values = producer(serviceAccount={"create": False, "name": "shared"})
    objects = helm.objects(values)
    assert objects.pod("acme-producer")["serviceAccountName"] == "shared" and not objects.kind("ServiceAccount")
    assert "trusts acme:acme-producer alone" in helm4.notes(values)
    assert 'apps.producer.serviceAccount.name is "shared" while create is true' in helm.refusal(
        producer(serviceAccount={"name": "shared"})
    )


def test_a_role_beside_pod_identity_is_refused(helm):
    values = {**producer(serviceAccount={"roleArn": "arn:aws:iam::123456789012:role/x"}), "podIdentity": True}
    assert "apps.producer.serviceAccount.roleArn is set while podIdentity is true" in helm.refusal(values)


def test_the_helm_test_calls_the_service_with_the_apps_own_image_and_no_shell(helm):
    objects = helm.objects(acme(awsAccountId="123456789012"), tests=True)
    pod = objects.one("Pod", "acme-producer-test")
    assert pod["metadata"]["annotations"]["helm.sh/hook"] == "test"
    (container,) = pod["spec"]["containers"]
    assert container["image"] == objects.container("acme-producer")["image"]
    assert container["args"] == ["healthcheck", "http://acme-producer.acme.svc:80/producer/readiness-probe"]
    assert pod["spec"]["restartPolicy"] == "Never"


def test_the_pod_of_a_helm_test_gets_no_traffic_and_is_let_in(helm):
    objects = helm.objects(acme(), tests=True)
    for pod in objects.kind("Pod"):
        labels = pod["metadata"]["labels"]
        for service in objects.kind("Service"):
            assert not service["spec"]["selector"].items() <= labels.items()
        for policy in objects.kind("NetworkPolicy"):
            assert not policy["spec"]["podSelector"]["matchLabels"].items() <= labels.items()
    policy = objects.one("NetworkPolicy", "acme-producer")["spec"]["ingress"][0]
    test = objects.one("Pod", "acme-producer-test")["metadata"]["labels"]
    assert [f["podSelector"]["matchLabels"].items() <= test.items() for f in policy["from"] if "podSelector" in f] == [True]


def test_helm_tests_exist_where_there_is_a_service_of_an_own_app(helm):
    assert not helm.objects(tier("pool-1")[0], tests=True, release="pool-1", namespace="pool-1").kind("Pod")
    assert not helm.objects(tier("basic")[0], tests=True).kind("Pod")
    pool = {"tenantId": "pool-1", "appDefaults": {"service": {"enabled": True}}}
    objects = helm.objects(pool, tests=True, release="pool-1", namespace="pool-1")
    assert len(objects.kind("Service")) == 2 and len(objects.kind("Pod")) == 2
    assert not helm.objects(producer(helmTest={"enabled": False}), tests=True).kind("Pod")
