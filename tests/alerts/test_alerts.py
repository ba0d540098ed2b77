"""The alerts and the dashboard that the chart ships: tested by promtool, and held against docs/metrics.md and docs/runbook.md."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "helm-tenant-chart"
HELM = Path(os.environ.get("HELM_BIN") or ROOT / ".cache/bin") / "helm"
PROMTOOL = os.environ["PROMTOOL"]
ALL = {
    "tenantId": "acme",
    "alerts": {"enabled": True, "runbookUrl": "https://example.com/runbook"},
    "dashboard": {"enabled": True, "namespace": "monitoring", "annotations": {"grafana_folder": "Tenant plane"}},
    "apps": {"payments": {"enabled": True, "ingress": {"enabled": True}}},
}


def render(values: dict, kind: str, namespace="acme") -> list[dict]:
    done = subprocess.run(
        [HELM, "template", "acme-premium", CHART, "-n", namespace, "-f", "-"],
        input=json.dumps(values), capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [one for one in yaml.safe_load_all(done.stdout) if one and one["kind"] == kind]


def groups(**values) -> list[dict]:
    (rule,) = render({**ALL, **values}, "PrometheusRule")
    return rule["spec"]["groups"]


def names(**values) -> set[str]:
    return {rule["alert"] for group in groups(**values) for rule in group["rules"]}


def promtool(*args, cwd=None, **more) -> str:
    done = subprocess.run([PROMTOOL, *args], capture_output=True, text=True, timeout=300, cwd=cwd, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def rendered(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("rules")
    (folder / "alerts.yaml").write_text(yaml.safe_dump({"groups": groups()}))
    return folder


def test_prometheus_takes_the_rules_and_its_linter_has_nothing_to_say(rendered):
    promtool("check", "rules", "--lint=all", "--lint-fatal", "alerts.yaml", cwd=rendered)


def test_each_alert_fires_when_it_should_and_not_else(rendered):
    (rendered / "rules.yaml").write_text((ROOT / "tests/alerts/rules.yaml").read_text())
    assert "SUCCESS" in promtool("test", "rules", "rules.yaml", cwd=rendered)


def test_every_alert_has_a_test():
    tested = (ROOT / "tests/alerts/rules.yaml").read_text()
    for name in names():
        assert f'alertname="{name}", alertstate="firing"' in tested, name


def test_a_release_alerts_of_what_it_runs():
    everything = names()
    pooled = {"producer": {"enabled": False}, "payments": {"enabled": False}}
    only_consumer = names(apps=pooled)
    assert not {"TenantPlaneErrors", "TenantPlaneSlow"} & only_consumer
    assert {"TenantPlaneDown", "TenantPlaneDeadLetters", "TenantPlaneDenied"} <= only_consumer < everything
    only_producer = names(apps={"consumer": {"enabled": False}, "payments": None})
    assert not {"TenantPlaneDeadLetters", "TenantPlaneNotDraining"} & only_producer
    basic = {**ALL, "apps": {name: {"enabled": False} for name in ("producer", "consumer", "payments")}}
    assert render(basic, "PrometheusRule", namespace="pool-1") == []


def test_an_app_that_may_be_scaled_to_nothing_is_not_down_then():
    keda = {"enabled": True, "minReplicas": 0, "queueURL": "https://sqs.eu-central-1.amazonaws.com/123456789012/consumer-acme"}
    rules = groups(apps={"consumer": {"keda": keda}})[0]["rules"]
    assert [rule["labels"]["component"] for rule in rules if rule["alert"] == "TenantPlaneDown"] == ["producer"]


def test_thresholds_are_values():
    text = json.dumps(groups(alerts={**ALL["alerts"], "backlogMessages": 250000, "oldestMessageSeconds": 90, "errorRatio": 0.01, "latencySeconds": 0.5}))
    for part in ('state=\\"visible\\"}) > 250000\\n', '"}) > 90"', "> 0.01", "> 0.5"):
        assert part in text, part
    assert "@" not in text.replace("example.com", ""), "a word was not replaced"


def test_alerts_and_dashboard_are_off_unless_asked_for():
    assert render({"tenantId": "acme"}, "PrometheusRule") == []
    assert render({"tenantId": "acme"}, "ConfigMap") == []


def sections() -> dict[str, str]:
    parts = re.split(r"^## (.+)$", (ROOT / "docs/runbook.md").read_text(), flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def test_every_alert_has_its_section_in_the_runbook_and_leads_there():
    known = sections()
    for group in groups():
        for rule in group["rules"]:
            name, annotations = rule["alert"], rule["annotations"]
            assert annotations["runbook_url"] == f"https://example.com/runbook#{name.lower()}"
            for part in ("**Means.**", "**See.**", "**Mend.**", "**Over when.**"):
                assert part in known[name], f"{name}: {part}"
    alerts = {name for name in known if name.startswith("TenantPlane")}
    assert alerts == names(), "the runbook has sections of alerts that do not exist"


def test_the_runbook_asks_for_metrics_that_exist_and_knows_every_reason_of_poison():
    table = (ROOT / "docs/metrics.md").read_text().split("<!-- metrics: begin")[1]
    known = documented()
    text = (ROOT / "docs/runbook.md").read_text()
    asked = set(re.findall(r"\b(?:aws|consumer|directory|http|payments|process|publisher)_[a-z_]+", text))
    # A pattern for grep may be the beginning of a name. The parameters of SSM are no metrics.
    asked -= {"consumer_sqs", "consumer_ddb"}
    assert len(asked) > 15
    for name in asked:
        assert any(metric.startswith(name) for metric in known), name
    (reasons,) = re.findall(r"^\| `consumer_messages_poison_total` .* `reason`: ([a-z_, ]+) \|", table, flags=re.M)
    for reason in reasons.split(", "):
        assert f"`{reason}`" in sections()["TenantPlanePoison"], reason


def documented() -> set[str]:
    table = (ROOT / "docs/metrics.md").read_text().split("<!-- metrics: begin")[1]
    found = set()
    for name, kind in re.findall(r"^\| `(\w+)` \| (\w+) \|", table, flags=re.M):
        found |= {f"{name}_bucket", f"{name}_sum", f"{name}_count"} if kind == "histogram" else {name}
    return found


def selected(expression: str) -> set[str]:
    """The metrics that an expression selects: names before a brace, in expressions that always have one."""
    return set(re.findall(r"\b([a-z_]+)\{", re.sub(r"\b(by|without|on) \([^)]*\)", "", expression)))


def test_every_metric_of_the_rules_is_documented():
    known = documented() | {"up"}
    for group in groups():
        for rule in group["rules"]:
            metrics = selected(rule["expr"])
            assert metrics and metrics <= known, f"{rule['alert']}: {metrics - known}"


@pytest.fixture(scope="module")
def dashboard() -> dict:
    (config,) = render(ALL, "ConfigMap")
    assert config["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert config["metadata"]["namespace"] == "monitoring"
    assert config["metadata"]["annotations"]["grafana_folder"] == "Tenant plane"
    return json.loads(config["data"]["tenant-plane.json"])


def test_the_dashboard_can_be_imported_with_any_data_source(dashboard):
    assert dashboard["uid"] == "tenant-plane" and dashboard["schemaVersion"] >= 36 and "id" not in dashboard
    variables = {one["name"]: one for one in dashboard["templating"]["list"]}
    assert variables["datasource"]["type"] == "datasource" and variables["datasource"]["query"] == "prometheus"
    uids = re.findall(r'"uid": "([^"]+)"', json.dumps(dashboard))
    assert set(uids) == {"tenant-plane", "${datasource}"}


def test_the_dashboards_panels_lie_side_by_side_and_ask_for_documented_metrics(dashboard):
    known, ids, places = documented(), set(), set()
    for panel in dashboard["panels"]:
        assert panel["id"] not in ids
        ids.add(panel["id"])
        grid = panel["gridPos"]
        for x in range(grid["x"], grid["x"] + grid["w"]):
            for y in range(grid["y"], grid["y"] + grid["h"]):
                assert 0 <= x < 24 and (x, y) not in places, panel["title"]
                places.add((x, y))
        for target in panel.get("targets", []):
            metrics = selected(target["expr"])
            assert metrics and metrics <= known, f"{panel['title']}: {metrics - known}"
            assert 'tenant=~"$tenant"' in target["expr"], panel["title"]
            query = target["expr"].replace("$__rate_interval", "5m").replace("$tenant", "acme")
            promtool("promql", "format", query, "--experimental")
    asked = {metric for panel in dashboard["panels"] for target in panel.get("targets", []) for metric in selected(target["expr"])}
    assert len(asked) > 25


@pytest.mark.parametrize("service", ["producer", "consumer", "payments"])
def test_what_services_show_follows_prometheus_conventions(service):
    scrape = ROOT / ".cache/scrapes" / f"{service}.txt"
    promtool("check", "metrics", input=scrape.read_text())
