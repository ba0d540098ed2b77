"""The login with the runner's role, and the chart job: against a registry, with Helm itself."""

import json
import os
import stat
import subprocess

import pytest
import stand_in_aws
from checkout import ROOT, run
from plane import helm
from registry import Registry

CHART_TAG = "0.1.0"


@pytest.fixture
def locked_registry(tmp_path):
    """A registry that asks for AWS's user and its password."""
    folder = tmp_path / "locked"
    folder.mkdir()
    started = Registry(folder, htpasswd=stand_in_aws.HTPASSWD)
    yield started
    started.stop()


@pytest.fixture
def runner(tmp_path):
    """What a runner's job has: an aws command, a temporary folder, a file for the environment of later steps."""
    folder = tmp_path / "runner"
    log = stand_in_aws.install(folder / "bin")
    env_file = folder / "env"
    env_file.touch()
    return {
        "log": log,
        "env_file": env_file,
        "variables": {
            "PATH": f"{folder}/bin{os.pathsep}{os.environ['PATH']}",
            "RUNNER_TEMP": str(folder / "temp"),
            "GITHUB_ENV": str(env_file),
        },
    }


def environment_of(runner):
    """What the login step left for later steps."""
    return dict(line.split("=", 1) for line in runner["env_file"].read_text().splitlines())


def test_the_login_serves_skopeo_buildah_and_docker_from_one_file_of_the_job(checkout, locked_registry, runner):
    checkout.commit("2024-01-02T03:04:05")
    job = checkout.job(locked_registry.host, "registry-login", **runner["variables"])
    assert job.code == 0, job.err
    assert runner["log"].read_text() == "ecr get-login-password --region eu-central-1\n"
    later = environment_of(runner)
    assert later["REGISTRY_AUTH_FILE"] == later["HELM_REGISTRY_CONFIG"] == later["DOCKER_CONFIG"] + "/config.json"
    assert list(json.loads(open(later["REGISTRY_AUTH_FILE"]).read())["auths"]) == [locked_registry.host]
    assert stat.S_IMODE(os.stat(later["DOCKER_CONFIG"]).st_mode) == 0o700
    assert stand_in_aws.PASSWORD not in job.out + job.err
    assert checkout.publish(locked_registry.host, "producer", **later).code == 0
    without = checkout.job(locked_registry.host, "plan-image", "producer")
    assert (without.code, "cannot list the tags" in without.err) == (1, True)


@pytest.mark.parametrize(
    "answer, why",
    [
        ("echo 'Unable to locate credentials' >&2; exit 253", "the runner's role gave no ECR password"),
        ("true", "printed nothing"),
        ("echo wrong", "refused the password"),
    ],
)
def test_a_login_that_fails_says_at_which_point(checkout, locked_registry, runner, tmp_path, answer, why):
    checkout.commit("2024-01-02T03:04:05")
    stand_in_aws.install(tmp_path / "runner/bin", answer)
    job = checkout.job(locked_registry.host, "registry-login", **runner["variables"])
    assert job.code == 1
    assert why in job.err


@pytest.mark.parametrize("name", ["REGISTRY", "AWS_REGION"])
def test_a_login_without_its_variables_asks_aws_for_nothing(checkout, runner, name):
    checkout.commit("2024-01-02T03:04:05")
    job = checkout.job("127.0.0.1:1", "registry-login", **{**runner["variables"], name: ""})
    assert job.code == 1
    assert f"empty: {name}." in job.err
    assert runner["log"].read_text() == ""


def test_a_pull_request_is_not_logged_in(checkout, runner):
    checkout.commit("2024-01-02T03:04:05")
    job = checkout.job("127.0.0.1:1", "registry-login", **runner["variables"], GITHUB_EVENT_NAME="pull_request")
    assert job.code == 1
    assert runner["log"].read_text() == ""


@pytest.fixture
def chart(checkout, monkeypatch):
    """A small chart in the repository, and Helm on the PATH."""
    monkeypatch.setenv("PATH", f"{os.path.dirname(helm())}{os.pathsep}{os.environ['PATH']}")
    checkout.write("helm-tenant-chart/Chart.yaml", 'apiVersion: v2\nname: helm-tenant-chart\nversion: "0.1.0"\n')
    checkout.write("helm-tenant-chart/values.yaml", "a: 1\n")
    checkout.commit("2024-01-02T03:04:05")
    return checkout


def test_a_new_version_is_pushed_as_the_artifact_that_flux_looks_for(chart, registry):
    job = chart.job(registry.host, "publish-chart")
    assert job.code == 0, job.err
    assert registry.tags("helm-tenant-chart") == [CHART_TAG]
    manifest = registry.get(f"helm-tenant-chart/manifests/{CHART_TAG}", "application/vnd.oci.image.manifest.v1+json")
    assert [layer["mediaType"] for layer in manifest["layers"]] == ["application/vnd.cncf.helm.chart.content.v1.tar+gzip"]


def test_the_same_chart_again_is_success(chart, registry):
    chart.job(registry.host, "publish-chart")
    job = chart.job(registry.host, "publish-chart")
    assert job.code == 0, job.err
    assert "exists with the same content" in job.err


def test_a_changed_chart_under_an_old_version_is_an_error_that_says_what_to_do(chart, registry):
    chart.job(registry.host, "publish-chart")
    chart.commit("2024-01-03T00:00:00", "helm-tenant-chart/values.yaml")
    job = chart.job(registry.host, "publish-chart")
    assert job.code == 1
    assert "raise the version in helm-tenant-chart/Chart.yaml" in job.err
    chart.write("helm-tenant-chart/Chart.yaml", "apiVersion: v2\nname: helm-tenant-chart\nversion: 0.1.1\n")
    chart.commit("2024-01-04T00:00:00")
    assert chart.job(registry.host, "publish-chart").code == 0
    assert registry.tags("helm-tenant-chart") == [CHART_TAG, "0.1.1"]


def test_a_chart_of_an_overtaken_commit_is_not_pushed(chart, registry):
    old = chart.git("rev-parse", "HEAD")
    chart.commit("2024-01-03T00:00:00", "README.md")
    chart.git("checkout", "-q", old)
    job = chart.job(registry.host, "publish-chart")
    assert job.code == 0
    assert "not the head of main any more" in job.err
    assert registry.tags("helm-tenant-chart") == []


def test_a_chart_of_a_pull_request_is_not_pushed(chart, registry):
    job = chart.job(registry.host, "publish-chart", GITHUB_EVENT_NAME="pull_request", GITHUB_REF="refs/pull/1/merge")
    assert job.code == 1
    assert registry.tags("helm-tenant-chart") == []


def test_a_registry_that_does_not_answer_is_no_new_version(chart, registry):
    registry.stop()
    job = chart.job(registry.host, "publish-chart")
    assert job.code == 1
    assert "cannot ask the registry" in job.err


def test_our_own_chart_can_be_published(chart, registry):
    run("cp", "-r", "--no-target-directory", f"{ROOT}/helm-tenant-chart", f"{chart.path}/helm-tenant-chart")
    chart.commit("2024-01-03T00:00:00")
    job = chart.job(registry.host, "publish-chart")
    assert job.code == 0, job.err
    pulled = subprocess.run(
        [helm(), "show", "chart", f"oci://{registry.host}/helm-tenant-chart", "--version", "0.x", "--plain-http"],
        capture_output=True,
        text=True,
    )
    assert "name: helm-tenant-chart\n" in pulled.stdout, pulled.stderr
