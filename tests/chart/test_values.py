"""Empty, null and filled values; numbers that YAML reads its own way; names that nothing knows."""

import itertools

import pytest

from conftest import acme, producer, tier

# What may be left out, with one value that fills it. Each is tried empty, null and filled, all together.
POD_MAPS = {
    "podAnnotations": {"example.com/team": "a"},
    "podLabels": {"team": "a"},
    "podSecurityContext": {"runAsUser": 1000},
    "securityContext": {"readOnlyRootFilesystem": False},
    "resources": {"limits": {"cpu": "1"}},
    "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
        {"weight": 1, "preference": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}}]}},
}
LISTS = {
    "imagePullSecrets": ["pull"],
    "extraEnv": [{"name": "SECRET", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}],
    "extraVolumes": [{"name": "tmp", "emptyDir": {}}],
    "topologySpreadConstraints": [{"topologyKey": "zone"}],
}
ROUTE_MAPS = {
    "annotations": {"alb.ingress.kubernetes.io/tags": "a=b"},
    "tls": [{"hosts": ["api.example.com"]}],
}


def states(filled):
    return [type(filled)(), None, filled]


def batches(choices: dict, size: int = 250):
    """Every combination of the choices, as apps c0000, c0001 …, in batches that one render holds."""
    combinations = itertools.product(*(states(filled) for filled in choices.values()))
    apps = [dict(zip(choices, combination)) for combination in combinations]
    for start in range(0, len(apps), size):
        yield {f"c{start + n:04}": app for n, app in enumerate(apps[start : start + size])}


def nothing_is_empty(value, path=""):
    """No key of a rendered object is null or an empty map or list: a key without a value is left out."""
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        here = f"{path}.{key}"
        assert child is not None, here
        assert child not in ({}, []) or here.endswith(("emptyDir", "podSelector")), here
        nothing_is_empty(child, here)


@pytest.mark.parametrize("choices, total", [(POD_MAPS, 729), (LISTS, 81)], ids=["maps", "lists"])
def test_every_combination_of_empty_null_and_filled_pod_values_renders_to_objects_without_empty_keys(helm4, choices, total):
    seen = 0
    for apps in batches(choices):
        values = acme(apps={"producer": None, "consumer": None, **apps})
        objects = helm4.objects(values, "--show-only", "templates/deployment.yaml")
        deployments = {d["metadata"]["name"]: d for d in objects}
        for name, given in apps.items():
            seen += 1
            deployment = deployments[f"acme-{name}"]
            nothing_is_empty(deployment)
            template = deployment["spec"]["template"]
            pod = template["spec"]
            (container,) = pod["containers"]
            if choices is POD_MAPS:
                assert template["metadata"].get("annotations") == (given["podAnnotations"] or None)
                assert template["metadata"]["labels"].get("team") == (given["podLabels"] or {}).get("team")
                assert pod["securityContext"]["runAsUser"] == (1000 if given["podSecurityContext"] else 65532)
                assert container["securityContext"]["readOnlyRootFilesystem"] is not bool(given["securityContext"])
                assert container["resources"]["limits"].get("cpu") == ("1" if given["resources"] else None)
                assert pod.get("affinity") == (given["affinity"] or None)
            else:
                assert pod.get("imagePullSecrets") == ([{"name": "pull"}] if given["imagePullSecrets"] else None)
                assert ("SECRET" in [e["name"] for e in container["env"]]) is bool(given["extraEnv"])
                assert pod.get("volumes") == (given["extraVolumes"] or None)
                spread = [c["topologyKey"] for c in pod.get("topologySpreadConstraints", [])]
                given_spread = given["topologySpreadConstraints"]
                both = ["topology.kubernetes.io/zone", "kubernetes.io/hostname"]
                assert spread == (both if given_spread is None else ["zone"] if given_spread else [])
    assert seen == total


RELEASE_MAPS = {
    "commonLabels": {"team": "a"},
    "commonAnnotations": {"example.com/owner": "b"},
    "nodeSelector": {"disk": "ssd"},
    "tolerations": [{"key": "spot", "operator": "Exists"}],
}


@pytest.mark.parametrize("combination", list(itertools.product(*(states(v) for v in RELEASE_MAPS.values()))))
def test_every_combination_of_empty_null_and_filled_release_values_renders_to_objects_without_empty_keys(helm4, combination):
    labels, annotations, selector, tolerations = combination
    routes = {f"r{n}": {"enabled": False, "ingress": dict(zip(ROUTE_MAPS, c))}
              for n, c in enumerate(itertools.product(*(states(v) for v in ROUTE_MAPS.values())))}
    objects = helm4.objects({
        "tenantId": "acme", "commonLabels": labels, "commonAnnotations": annotations,
        "global": {"nodeSelector": selector, "tolerations": tolerations},
        "apps": {"consumer": None, "producer": {"podAnnotations": {"a": "b"}}, **routes},
    })
    for o in objects:
        nothing_is_empty(o)
        assert o["metadata"]["labels"].get("team") == ("a" if labels else None)
        assert o["metadata"].get("annotations", {}).get("example.com/owner") == ("b" if annotations else None)
    pod = objects.pod("acme-producer")
    # A map is merged over the default, as Helm does; only a null takes the default away. A list replaces it.
    default = {"node-type": "applications"}
    assert pod.get("nodeSelector") == (None if selector is None else {**default, **selector})
    keys = [t["key"] for t in pod.get("tolerations", [])]
    assert keys == ([] if not tolerations else ["spot"])
    for (name, _), given in zip(routes.items(), itertools.product(*(states(v) for v in ROUTE_MAPS.values()))):
        ingress = objects.one("Ingress", f"acme-ingress-{name}")
        assert ingress["metadata"]["annotations"].get("alb.ingress.kubernetes.io/tags") == ("a=b" if given[0] else None)
        assert ingress["spec"].get("tls") == (given[1] or None)


@pytest.mark.parametrize("pod", [{}, None, {"a": "1"}])
@pytest.mark.parametrize("common", [{}, None, {"b": "2"}])
def test_annotations_of_pods_and_of_objects_do_not_depend_on_each_other(helm, pod, common):
    objects = helm.objects({"tenantId": "acme", "commonAnnotations": common, "apps": {"producer": {"podAnnotations": pod}}})
    deployment = objects.one("Deployment", "acme-producer")
    assert deployment["metadata"].get("annotations") == (common or None)
    assert deployment["spec"]["template"]["metadata"].get("annotations") == (pod or None)


SECTIONS = [
    "image", "imagePullSecrets", "serviceAccount", "podAnnotations", "podLabels", "podSecurityContext", "securityContext",
    "service", "ingress", "resources", "autoscaling", "keda", "podDisruptionBudget", "rollout", "topologySpreadConstraints",
    "affinity", "priorityClassName", "probes", "shutdown", "settings", "extraEnv", "extraVolumes", "extraVolumeMounts",
    "helmTest", "envId", "replicaCount", "containerPort", "adminPort", "enabled",
]


@pytest.mark.parametrize("key", SECTIONS)
def test_a_key_that_is_null_means_its_default(helm, key):
    assert helm.text(producer(**{key: None})) == helm.text(producer())


def test_a_null_below_a_section_means_its_default_too(helm):
    nulls = producer(
        image={"repository": None, "tag": None, "pullPolicy": None}, service={"type": None, "port": None},
        ingress={"enabled": None, "className": None, "pathType": None, "annotations": None, "tls": None},
        serviceAccount={"create": None}, autoscaling={"enabled": None, "minReplicas": None, "maxReplicas": None},
        podDisruptionBudget={"enabled": None}, shutdown={"drainDelaySeconds": None}, probes={"liveness": None},
    )
    assert helm.text(nulls) == helm.text(producer())


def test_a_null_takes_a_default_away_where_it_can_be_unwanted(helm):
    objects = helm.objects(producer(
        resources={"limits": {"memory": None}, "requests": {"cpu": None}},
        podSecurityContext={"runAsUser": None, "runAsGroup": None, "fsGroup": None},
    ))
    assert objects.container("acme-producer")["resources"] == {"requests": {"memory": "64Mi"}}
    assert objects.pod("acme-producer")["securityContext"] == {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}


def test_a_null_of_what_a_pod_cannot_do_without_is_refused_by_name(helm):
    assert "missing property 'port'" in helm.refusal(acme(appDefaults={"service": {"port": None}}))
    assert "missing property 'image'" in helm.refusal(acme(appDefaults={"image": None}))
    assert "missing property 'networkPolicy'" in helm.refusal(acme(networkPolicy=None))


def test_payments_as_null_is_payments_switched_off(helm):
    off = helm.text(acme())
    assert helm.text(acme(apps={"payments": None})) == off
    assert helm.objects(acme(apps={"payments": None})).variables()["enable_payments"] is False


@pytest.mark.parametrize("payments", [{}, {"enabled": None}, {"ingress": None}, {"ingress": {"enabled": None}}])
def test_a_null_within_payments_does_not_switch_it_on(helm, payments):
    assert helm.text(acme(apps={"payments": payments})) == helm.text(acme())


def test_an_app_as_null_is_an_app_that_is_not_there(helm):
    objects = helm.objects(acme(apps={"consumer": None, "reports": None}))
    assert not [name for _, _, name in objects.names() if "consumer" in name or "reports" in name]
    assert objects.variables()["enable_consumer"] is False


def test_a_release_without_any_app_still_has_its_terraform_object(helm):
    for apps in (None, {"producer": None, "consumer": None}):
        assert helm.objects(acme(apps=apps)).names() == {("Terraform", "flux-system", "acme")}


def test_sections_that_are_off_may_be_null(helm):
    objects = helm.objects(acme(podMonitor=None, resourceQuota=None, limitRange=None, infra=None))
    assert len(objects) == 12 and not objects.kind("Terraform")


def test_false_and_zero_are_honoured(helm):
    objects = helm.objects(producer(
        serviceAccount={"create": False}, ingress={"enabled": False}, autoscaling={"enabled": False}, replicaCount=0,
    ))
    assert {kind for kind, _, _ in objects.names()} == {"Deployment", "NetworkPolicy", "Terraform"}
    assert objects.one("Deployment")["spec"]["replicas"] == 0
    assert objects.pod("acme-producer")["serviceAccountName"] == "default"


@pytest.mark.parametrize("value", ['"false"', "0", "1"])
def test_a_switch_that_is_no_boolean_is_refused(helm, value):
    message = helm.refusal(f"tenantId: acme\napps: {{producer: {{enabled: {value}}}}}")
    assert "/apps/producer/enabled" in message and "want null or boolean" in message.replace("boolean or null", "null or boolean")


@pytest.mark.parametrize(
    "written, tag",
    [
        ("20240506070809", "20240506070809"), ("prd-20240102T030405Z", "prd-20240102T030405Z"), ("7", "7"), ("1000000", "1000000"),
        ('"1.10"', "1.10"), ('"1e3"', "1e3"), ('"0123"', "0123"), ('"on"', "on"), ("9007199254740991", "9007199254740991"),
    ],
)
def test_a_tag_keeps_every_digit(helm, written, tag):
    objects = helm.objects(f"tenantId: acme\napps: {{producer: {{image: {{repository: registry.example.com/producer, tag: {written}}}}}}}")
    assert objects.container("acme-producer")["image"] == f"registry.example.com/producer:{tag}"


def test_a_tag_set_on_the_command_line_keeps_every_digit(helm):
    objects = helm.objects(acme(), "--set", "apps.producer.image.tag=20240506070809")
    assert objects.container("acme-producer")["image"] == "producer:20240506070809"


@pytest.mark.parametrize("written", ["1.10", "20240506070809123456", "true", '"a:b"', '"-x"', '"a b"'])
def test_a_tag_that_is_not_what_was_typed_or_no_tag_is_refused(helm, written):
    message = helm.refusal(f"tenantId: acme\napps: {{producer: {{image: {{tag: {written}}}}}}}")
    assert "apps.producer.image.tag" in message or "/apps/producer/image/tag" in message


def test_a_tag_within_the_repository_is_refused(helm):
    message = helm.refusal(producer(image={"repository": "registry.example.com:5000/producer:v1"}))
    assert 'apps.producer.image.repository "registry.example.com:5000/producer:v1" has a tag in it' in message
    accepted = helm.objects(producer(image={"repository": "registry.example.com:5000/producer", "tag": "v1"}))
    assert accepted.container("acme-producer")["image"] == "registry.example.com:5000/producer:v1"


@pytest.mark.parametrize("given", [["pull"], [{"name": "pull"}]])
def test_pull_secrets_are_taken_as_names_and_as_objects(helm, given):
    assert helm.objects(producer(imagePullSecrets=given)).pod("acme-producer")["imagePullSecrets"] == [{"name": "pull"}]


@pytest.mark.parametrize("given", [[{"nom": "pull"}], [""], [None], "pull"])
def test_pull_secrets_of_another_form_are_refused(helm, given):
    assert "/apps/producer/imagePullSecrets" in helm.refusal(producer(imagePullSecrets=given))


@pytest.mark.parametrize(
    "values, message",
    [
        (producer(resources={"limits": {"memory": "32Mi"}}), "apps.producer.resources.requests.memory is 64Mi and its limit 32Mi"),
        (producer(resources={"limits": {"cpu": 0.05}}), "apps.producer.resources.requests.cpu is 100m and its limit 0.05"),
        (producer(resources={"requests": {"memory": "1G"}, "limits": {"memory": "900Mi"}}), "requests.memory is 1G and its limit 900Mi"),
        (producer(extraVolumeMounts=[{"name": "a", "mountPath": "/a"}]), "apps.producer.extraVolumeMounts: a is none of its extraVolumes"),
        (producer(extraVolumes=[{"name": "a"}, {"name": "a"}]), "apps.producer.extraVolumes has the name a twice"),
        (producer(imagePullSecrets=["a", {"name": "a"}]), "apps.producer.imagePullSecrets has the name a twice"),
        (producer(topologySpreadConstraints=[{"topologyKey": "z"}, {"topologyKey": "z"}]), "topologySpreadConstraints has the topologyKey z twice"),
        (producer(probes={"liveness": {"port": "metrics"}}), "/apps/producer/probes/liveness/port"),
        (producer(securityContext={"privileged": True}), "privileged is true while allowPrivilegeEscalation is false"),
        (acme(**{"global": {"tolerations": [{"effect": "NoSchedule"}]}}), "global.tolerations has an entry without a key"),
        (acme(commonAnnotations={"helm.sh/hook": "pre-install"}), "commonAnnotations must not set helm.sh/hook"),
        (acme(resourceQuota={"enabled": True, "hard": None}), "resourceQuota.hard is empty"),
        (acme(limitRange={"enabled": True, "limits": []}), "limitRange.limits is empty"),
        (acme(infra={"vars": {"n": 12345678901234567890}}), "infra.vars.n is a number too long to be exact"),
    ],
)
def test_what_kubernetes_would_refuse_later_is_refused_here_by_name(helm, values, message):
    assert message in helm.refusal(values)


@pytest.mark.parametrize("request_, limit", [("100m", 0.1), ("1Gi", "1.1G"), ("1Gi", "1024Mi"), (1, "1000m")])
def test_a_request_at_its_limit_is_accepted(helm, request_, limit):
    what = "cpu" if "m" in f"{request_}{limit}" and "Mi" not in f"{limit}" else "memory"
    assert helm.objects(producer(resources={"requests": {what: request_}, "limits": {what: limit}}))


@pytest.mark.parametrize("account", ["awsAccountId: 123456789012", 'awsAccountId: "123456789012"'])
def test_an_account_number_is_exact_with_and_without_quotes(helm, account):
    objects = helm.objects(f"tenantId: acme\n{account}")
    assert objects.one("ServiceAccount", "acme-consumer")["metadata"]["annotations"] == {
        "eks.amazonaws.com/role-arn": "arn:aws:iam::123456789012:role/consumer-role-acme"
    }


@pytest.mark.parametrize("account", ["012345678901", "12345", '"{account_id}"', '"12345678901x"'])
def test_an_account_number_that_lost_a_digit_is_refused(helm, account):
    assert "awsAccountId" in helm.refusal(f"tenantId: acme\nawsAccountId: {account}")


@pytest.mark.parametrize(
    "values, name",
    [
        ({"tennantId": "acme"}, "tennantId"),
        (producer(replicaCout=2), "replicaCout"),
        (producer(image={"tags": "v1"}), "tags"),
        (producer(resources={"request": {}}), "request"),
        (acme(networkPolicy={"enable": True}), "enable"),
        (acme(infra={"tfversion": "x"}), "tfversion"),
    ],
)
def test_a_value_that_nothing_reads_is_refused_by_name(helm, values, name):
    assert f"additional properties '{name}' not allowed" in helm.refusal({"tenantId": "acme"} | values)


def test_keys_of_a_parent_chart_may_stand_under_global(helm):
    assert helm.objects(acme(**{"global": {"imageRegistry": "x"}}))


def test_a_version_with_build_metadata_becomes_a_valid_label(helm, tmp_path):
    from conftest import CHART

    done = helm.run("package", str(CHART), "--version", "1.2.3+abc123", "--app-version", "4.5.6+" + "d" * 70, "-d", str(tmp_path))
    package = tmp_path / "helm-tenant-chart-1.2.3+abc123.tgz"
    assert package.exists(), done.stderr
    labels = helm.objects(acme(), chart=package).one("Terraform")["metadata"]["labels"]
    assert labels["helm.sh/chart"] == "helm-tenant-chart-1.2.3_abc123"
    assert labels["app.kubernetes.io/version"] == "4.5.6_" + "d" * 57


def test_the_values_of_every_tier_survive_nulls_for_all_that_they_leave_out(helm):
    for name in ("pool-1", "basic", "advanced", "premium"):
        values, where = tier(name)
        plain = helm.objects(values, **where)
        for app in values["apps"].values():
            for key in SECTIONS:
                app.setdefault(key, None)
        assert helm.objects(values, **where) == plain
