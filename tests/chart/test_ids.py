"""Which ids are taken, what they become, and what is said about the others."""

import pytest

from conftest import acme, producer

LONGEST = "a" + "b" * 38 + "c"


def test_a_name_of_40_characters_fits_everywhere(helm):
    assert len(LONGEST) == 40
    apps = {"payments": {"enabled": True, "ingress": {"enabled": True}, "autoscaling": {"enabled": True}}}
    objects = helm.objects({"tenantId": LONGEST, "apps": apps}, release=f"{LONGEST}-advanced", namespace=LONGEST)
    for o in objects:
        longest = 253 if o["kind"] not in ("Service", "Namespace") else 52
        assert len(o["metadata"]["name"]) <= longest
        assert all(len(value) <= 63 for value in o["metadata"]["labels"].values())
        for key in o["metadata"].get("annotations", {}):
            assert len(key.split("/")[-1]) <= 63
    assert objects.one("Service", f"{LONGEST}-producer")
    assert f"alb.ingress.kubernetes.io/conditions.{LONGEST}-producer" in objects.one(
        "Ingress", f"{LONGEST}-ingress-producer"
    )["metadata"]["annotations"]


def test_two_tenants_with_the_same_first_39_characters_share_no_name(helm):
    twin = LONGEST[:-1] + "d"
    one = helm.objects({"tenantId": LONGEST}, release="one", namespace="one")
    two = helm.objects({"tenantId": twin}, release="two", namespace="two")
    assert len(one.names()) == 13
    assert not one.names() & two.names()
    assert not {o["metadata"]["name"] for o in one} & {o["metadata"]["name"] for o in two}


@pytest.mark.parametrize(
    "tenant",
    ["a", "acme", "acme-2", "a1", "no", "on", "y", "null", "true", "nan", "e3", "o17", "kubeacme", "fluxy", "poolside", "defaults", "pool-1", "pool-9999", LONGEST],
)
def test_a_valid_id_stays_a_string_wherever_it_stands(helm, tenant):
    """Read as YAML 1.1, where bare `no`, `on` and `null` are no strings."""
    objects = helm.objects({"tenantId": tenant}, release="r", namespace="n")
    terraform = objects.one("Terraform")
    assert terraform["metadata"]["name"] == tenant
    assert objects.variables()["tenant_id"] == tenant
    assert objects.one("Deployment", f"{tenant}-producer")["metadata"]["namespace"] == tenant
    assert objects.env(f"{tenant}-producer")["ENVIRONMENT"] == tenant
    assert all(o["metadata"]["labels"]["tenant"] == tenant for o in objects)


@pytest.mark.parametrize(
    "tenant, sentence",
    [
        ("Acme_Corp", "does not match pattern '^([a-z]([a-z0-9-]{0,38}[a-z0-9])?)?$'"),
        ("ACME", "does not match pattern"),
        ("acme.corp", "does not match pattern"),
        ("-acme", "does not match pattern"),
        ("acme-", "does not match pattern"),
        ("café", "does not match pattern"),
        ("*", "does not match pattern"),
        ("acme?", "does not match pattern"),
        ("a/b", "does not match pattern"),
        ("acme corp", "does not match pattern"),
        ("acme ", "does not match pattern"),
        ("acme\n", "does not match pattern"),
        ("{x}", "does not match pattern"),
        ("1acme", "does not match pattern"),
        ("a" * 41, "does not match pattern"),
        ("a" * 50, "does not match pattern"),
        ("a--b", 'tenantId "a--b" must not have two dashes in a row'),
        ("awsome", 'tenantId "awsome" must not start with aws or ssm'),
        ("ssmith", 'tenantId "ssmith" must not start with aws or ssm'),
        ("default", 'tenantId "default" must not be default or start with kube- or flux-'),
        ("kube-system", 'tenantId "kube-system" must not be default or start with kube- or flux-'),
        ("flux-system", 'tenantId "flux-system" must not be default or start with kube- or flux-'),
        ("pool-0", 'tenantId "pool-0" names a pool and must be pool-1 to pool-9999'),
        ("pool-01", 'tenantId "pool-01" names a pool and must be pool-1 to pool-9999'),
        ("pool-10000", 'tenantId "pool-10000" names a pool and must be pool-1 to pool-9999'),
        ("pool-party", 'tenantId "pool-party" names a pool and must be pool-1 to pool-9999'),
    ],
)
def test_an_id_that_something_would_not_take_is_refused_by_name(helm, tenant, sentence):
    message = helm.refusal({"tenantId": tenant})
    assert sentence in message
    assert "/tenantId" in message or "tenantId " in message


@pytest.mark.parametrize(
    "text",
    ["tenantId: 0123", "tenantId: 123", "tenantId: 111111111111", "tenantId: 1e3", "tenantId: true", "tenantId: no", "tenantId: 2024-01-01T00:00:00Z"],
)
def test_an_unquoted_id_that_yaml_reads_as_something_else_is_refused(helm, text):
    message = helm.refusal(text)
    assert "/tenantId" in message
    assert "want string" in message or "does not match pattern" in message


@pytest.mark.parametrize("flag", ["tenantId=1e3", "tenantId=0123", "tenantId=111111111111", "tenantId=true"])
def test_an_id_set_on_the_command_line_is_never_turned_into_another(helm, flag):
    message = helm.refusal({}, "--set", flag)
    assert "/tenantId" in message


@pytest.mark.parametrize("values", [{}, {"tenantId": ""}])
def test_without_an_id_the_message_says_how_to_give_one(helm, values):
    assert "tenantId is missing: say which tenant or pool this release deploys, for example --set tenantId=acme" in helm.refusal(values)


def test_a_null_id_is_refused(helm):
    assert "tenantId" in helm.refusal({"tenantId": None})


def test_the_templates_hold_the_rule_where_the_schema_is_switched_off(helm):
    message = helm.refusal({"tenantId": "Acme_Corp"}, "--skip-schema-validation")
    assert 'tenantId "Acme_Corp" must be 1 to 40 small letters' in message
    message = helm.refusal("tenantId: 0123", "--skip-schema-validation")
    assert "tenantId was read as the float64 83: put it in quotes" in message


@pytest.mark.parametrize("envid", ["acme", "pool-0", "pool-1x", "Pool-1", "pool-12345", ""])
def test_a_route_leads_to_a_pool_or_is_refused(helm, envid):
    message = helm.refusal(producer(enabled=False, envId=envid))
    assert "/apps/producer/envId" in message and "'^pool-[1-9][0-9]{0,3}$'" in message


@pytest.mark.parametrize("name", ["Reports", "my_app", "-x", "x-", "a.b", "9lives"])
def test_an_app_name_that_is_no_name_is_refused(helm, name):
    assert name in helm.refusal(acme(apps={name: {"enabled": True}}))


def test_a_name_that_yaml_reads_as_true_or_false_is_refused(helm):
    assert "apps.true: YAML reads an unquoted y" in helm.refusal("tenantId: acme\napps: {y: {}}")
    assert "infra.vars has the name false" in helm.refusal("tenantId: acme\ninfra: {vars: {n: 1}}")


def test_an_app_whose_service_would_be_too_long_for_the_load_balancer_is_refused(helm):
    message = helm.refusal({"tenantId": LONGEST, "apps": {"reconciliation": {}}})
    assert f"apps.reconciliation: {LONGEST}-reconciliation has 55 characters and may have 52" in message
    assert helm.objects({"tenantId": LONGEST, "apps": {"reconciler": {}}}).one("Service", f"{LONGEST}-reconciler")


@pytest.mark.parametrize("release", ["12345", "1e3", "no", "a.b-c"])
def test_any_release_name_becomes_a_quoted_label_and_no_name_of_an_object(helm, release):
    objects = helm.objects(acme(), release=release)
    for o in objects:
        assert o["metadata"]["labels"]["app.kubernetes.io/instance"] == release
        assert not o["metadata"]["name"].startswith(release)
    assert objects.one("Deployment", "acme-producer")["spec"]["selector"]["matchLabels"]["app.kubernetes.io/instance"] == release
