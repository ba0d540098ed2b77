"""Traces, alerts and the dashboard: what the chart hands on. What the alerts say is tested in tests/alerts."""

import json

import pytest
from conftest import acme

COLLECTOR = "http://collector.monitoring:4318"


def test_without_a_collector_nothing_about_traces_is_set(helm):
    env = helm.objects(acme()).env("acme-producer")
    assert not [name for name in env if name.startswith(("OTEL_EXPORTER", "OTEL_TRACES"))]


def test_a_collector_reaches_every_app_with_the_share_of_traces_that_begin_here(helm):
    objects = helm.objects(acme(telemetry={"otlp": {"endpoint": COLLECTOR, "samplerRatio": 0.25}}))
    for app in ("producer", "consumer"):
        env = objects.env(f"acme-{app}")
        assert env["OTEL_EXPORTER_OTLP_ENDPOINT"] == COLLECTOR
        assert (env["OTEL_TRACES_SAMPLER"], env["OTEL_TRACES_SAMPLER_ARG"]) == ("parentbased_traceidratio", "0.25")


@pytest.mark.parametrize(("share", "written"), [(None, "0.05"), (0, "0"), (1, "1"), (0.001, "0.001")], ids=str)
def test_a_share_is_written_as_it_was_meant(helm, share, written):
    given = {"endpoint": COLLECTOR} if share is None else {"endpoint": COLLECTOR, "samplerRatio": share}
    assert helm.objects(acme(telemetry={"otlp": given})).env("acme-consumer")["OTEL_TRACES_SAMPLER_ARG"] == written


@pytest.mark.parametrize(
    ("endpoint", "port"),
    [(COLLECTOR, 4318), ("https://otel.example.com", 443), ("http://collector/otlp", 80), ("https://collector:8443/v1", 8443)],
)
def test_the_network_policy_opens_the_collectors_port_in_its_namespace(helm, endpoint, port):
    objects = helm.objects(acme(telemetry={"otlp": {"endpoint": endpoint, "namespace": "otel"}}))
    rule = {"to": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "otel"}}}], "ports": [{"port": port, "protocol": "TCP"}]}
    for policy in objects.kind("NetworkPolicy"):
        assert policy["spec"]["egress"].count(rule) == 1


def test_a_collector_without_a_namespace_opens_nothing(helm):
    plain = helm.objects(acme()).one("NetworkPolicy", "acme-producer")["spec"]
    traced = helm.objects(acme(telemetry={"otlp": {"endpoint": "https://otel.example.com"}}))
    assert traced.one("NetworkPolicy", "acme-producer")["spec"] == plain


@pytest.mark.parametrize(
    ("values", "place"),
    [
        ({"telemetry": {"otlp": {"endpoint": "collector:4318"}}}, "/telemetry/otlp/endpoint"),
        ({"telemetry": {"otlp": {"endpoint": "http://collector:4318?x=1"}}}, "/telemetry/otlp/endpoint"),
        ({"telemetry": {"otlp": {"samplerRatio": 5}}}, "/telemetry/otlp/samplerRatio"),
        ({"telemetry": {"otlp": {"protocol": "grpc"}}}, "/telemetry/otlp"),
        ({"alerts": {"errorRatio": 5}}, "/alerts/errorRatio"),
        ({"alerts": {"backlogMessages": "many"}}, "/alerts/backlogMessages"),
        ({"alerts": {"runbookUrl": "docs/runbook.md"}}, "/alerts/runbookUrl"),
        ({"dashboard": {"namespace": "Monitoring"}}, "/dashboard/namespace"),
    ],
    ids=lambda value: json.dumps(value) if isinstance(value, dict) else "",
)
def test_what_cannot_be_meant_is_refused_at_its_place(helm, values, place):
    assert place in helm.refusal(acme(**values))


def test_a_threshold_that_is_taken_away_is_refused_rather_than_left_out_of_a_rule(helm):
    assert "backlogMessages" in helm.refusal(acme(alerts={"enabled": True, "backlogMessages": None}))


def test_sections_without_anything_below_them_mean_off(helm):
    objects = helm.objects(acme(alerts=None, dashboard=None, telemetry=None))
    assert not objects.kind("PrometheusRule") + objects.kind("ConfigMap")
    assert helm.objects(acme(telemetry={"otlp": None})).names() == objects.names()


def test_rules_and_dashboard_carry_the_labels_that_select_them(helm):
    objects = helm.objects(acme(
        alerts={"enabled": True, "labels": {"release": "prometheus"}},
        dashboard={"enabled": True, "labels": {"grafana_dashboard": "yes"}},
    ))
    rule = objects.one("PrometheusRule", "acme-alerts")
    assert (rule["metadata"]["namespace"], rule["metadata"]["labels"]["release"]) == ("acme", "prometheus")
    assert {r["labels"]["tenant"] for r in rule["spec"]["groups"][0]["rules"]} == {"acme"}
    assert all("runbook_url" not in r["annotations"] for r in rule["spec"]["groups"][0]["rules"])
    dashboard = objects.one("ConfigMap", "acme-dashboard")
    assert (dashboard["metadata"]["namespace"], dashboard["metadata"]["labels"]["grafana_dashboard"]) == ("acme", "yes")
    assert json.loads(dashboard["data"]["tenant-plane.json"])["uid"] == "tenant-plane"


def test_a_tenant_whose_id_yaml_takes_for_a_word_keeps_it_in_rules(helm):
    values = {"tenantId": "on", "alerts": {"enabled": True}}
    rules = helm.objects(values, release="on-premium", namespace="on").one("PrometheusRule")["spec"]["groups"][0]["rules"]
    assert {rule["labels"]["tenant"] for rule in rules} == {"on"}
    assert all('tenant="on"' in rule["expr"] for rule in rules)
