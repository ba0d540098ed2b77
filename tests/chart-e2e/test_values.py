"""Values as people type them, through the real binary: taken as meant, or refused before anything is written."""

import pytest
import yaml

from helm import HelmFailed


@pytest.mark.parametrize("typed", ["0123", "1e3", "123", "true", "null", "''", "Acme", "acme-", "a--b", "kube-x", "pool-x"])
def test_an_id_that_is_none_is_refused_and_nothing_is_written(releases, tmp_path, typed):
    releases.make_namespace("typed", {})
    file = tmp_path / "values.yaml"
    file.write_text(f"tenantId: {typed}\n")
    with pytest.raises(HelmFailed, match="tenantId"):
        releases.helm.run("install", "typed", str(releases.chart), "--namespace=typed", f"--values={file}")
    releases.assert_nothing_left()


@pytest.mark.parametrize("given", ["1e3", "0123", "true"])
def test_an_id_that_the_command_line_reads_as_something_else_is_refused(releases, given):
    releases.make_namespace("typed", {})
    with pytest.raises(HelmFailed, match="tenantId"):
        releases.helm.run("install", "typed", str(releases.chart), "--namespace=typed", f"--set=tenantId={given}")
    releases.assert_nothing_left()


def test_an_app_that_is_null_is_an_app_left_out(releases):
    values = releases.values("premium", "nulls")
    values["apps"]["payments"] = None
    rendered = releases.apply(values, "nulls-premium")
    releases.assert_whole("nulls-premium", rendered)
    names = sorted(each["metadata"]["name"] for each in rendered if each["kind"] == "Deployment")
    assert names == ["nulls-consumer", "nulls-producer"]


def test_the_smallest_values_make_a_release_that_runs(releases):
    values = {"tenantId": "smallest", "apps": {"producer": {"enabled": True}, "consumer": {"enabled": True}}}
    rendered = releases.apply(values, "smallest")
    releases.assert_whole("smallest", rendered)
    images = [
        each["spec"]["template"]["spec"]["containers"][0]["image"] for each in rendered if each["kind"] == "Deployment"
    ]
    version = yaml.safe_load((releases.chart / "Chart.yaml").read_text())["appVersion"]
    assert sorted(images) == [f"consumer:{version}", f"producer:{version}"]
    accounts = [each for each in rendered if each["kind"] == "ServiceAccount"]
    assert [each["metadata"].get("annotations") for each in accounts] == [None, None]


def test_a_fourth_app_gets_the_defaults_and_runs_but_is_unknown_to_terraform(releases):
    values = releases.values("premium", "more")
    values["apps"]["reports"] = {"enabled": True, "image": {"repository": "reports", "tag": "1"}}
    rendered = releases.apply(values, "more-premium")
    releases.assert_whole("more-premium", rendered)
    releases.helm.test("more-premium", "more")
    terraform = next(each for each in rendered if each["kind"] == "Terraform")
    assert [each["name"] for each in releases.api.get(terraform)["spec"]["vars"]] == [
        "tenant_id", "enable_producer", "enable_consumer", "enable_payments", "pool_id", "deletion_protection",
    ]
