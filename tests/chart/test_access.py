"""Who may call a tenant's services, and how much: identity and limits as values."""

import pytest

from conftest import acme

ISSUER = {"issuer": "https://login.example.com/tenants", "audience": "plane"}


def access(env: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if name.startswith(("AUTH_", "LIMIT_"))}


def test_without_values_nothing_is_asked_and_nothing_limited(helm):
    assert access(helm.objects(acme()).env("acme-producer")) == {}
    for nothing in ({"auth": None, "limits": None}, {"auth": {}, "limits": {}}):
        assert access(helm.objects(acme(**nothing)).env("acme-producer")) == {}


def test_every_service_believes_the_issuer_and_has_the_limits(helm):
    limits = {"requestsPerSecond": 100, "bytesPerSecond": 1048576, "burstSeconds": 5,
              "overrides": {"globex": "500:1048576", "initech": "-:-", "umbrella": 50}}
    auth = {**ISSUER, "tenantClaim": "https://example.com/tenant", "jwksUrl": "https://login.example.com/keys?v=2", "clockSkew": "10s"}
    objects = helm.objects(acme(auth=auth, limits=limits, apps={"payments": {"enabled": True}}))
    expected = {
        "AUTH_ISSUER": "https://login.example.com/tenants",
        "AUTH_AUDIENCE": "plane",
        "AUTH_TENANT_CLAIM": "https://example.com/tenant",
        "AUTH_JWKS_URL": "https://login.example.com/keys?v=2",
        "AUTH_CLOCK_SKEW": "10s",
        "LIMIT_REQUESTS": "100",
        "LIMIT_BYTES": "1048576",
        "LIMIT_BURST": "5",
        "LIMIT_OVERRIDES": "globex=500:1048576,initech=-:-,umbrella=50",
    }
    for app in ("acme-producer", "acme-consumer", "acme-payments"):
        assert access(objects.env(app)) == expected


@pytest.mark.parametrize("auth, message", [
    ({"issuer": "https://login.example.com"}, "auth.audience is needed with auth.issuer"),
    ({"audience": "plane"}, "auth.issuer is empty while auth.audience is set"),
    ({"jwksUrl": "https://login.example.com/keys"}, "auth.issuer is empty while auth.jwksUrl is set"),
    ({**ISSUER, "jwksUrl": "https://keys.example.com/keys"}, "auth.jwksUrl must be on the issuer's own host, https://login.example.com"),
])
def test_identity_by_half_is_refused(helm, auth, message):
    assert message in helm.refusal(acme(auth=auth))


@pytest.mark.parametrize("values", [
    {"auth": {**ISSUER, "issuer": "http://login.example.com"}},
    {"auth": {**ISSUER, "issuer": "login.example.com"}},
    {"auth": {**ISSUER, "issuer": "https://a@login.example.com"}},
    {"auth": {**ISSUER, "issuer": "https://login.example.com/?a=1"}},
    {"auth": {**ISSUER, "tenantClaim": "aud"}},
    {"auth": {**ISSUER, "clockSkew": "soon"}},
    {"auth": {**ISSUER, "secret": "x"}},
    {"limits": {"requestsPerSecond": 0}},
    {"limits": {"requestsPerSecond": "many"}},
    {"limits": {"bytesPerSecond": 1.5}},
    {"limits": {"burstSeconds": 3601}},
    {"limits": {"overrides": {"Globex": 5}}},
    {"limits": {"overrides": {"globex": "fast"}}},
    {"limits": {"overrides": {"globex": 0}}},
])
def test_what_the_services_would_refuse_the_schema_refuses(helm, values):
    assert "values don't meet the specifications of the schema" in helm.refusal(acme(**values))


def test_a_setting_of_the_same_name_is_refused(helm):
    apps = {"producer": {"settings": {"AUTH_ISSUER": "https://other.example.com"}}}
    assert "apps.producer.settings must not set AUTH_ISSUER" in helm.refusal(acme(auth=ISSUER, apps=apps))
    # While the value is empty it may come from a setting, for one app alone.
    settings = {"AUTH_ISSUER": "https://other.example.com", "AUTH_AUDIENCE": "x"}
    env = helm.objects(acme(apps={"producer": {"settings": settings}})).env("acme-producer")
    assert access(env) == settings
