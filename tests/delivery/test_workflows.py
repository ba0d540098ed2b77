"""The workflow files: linted, held against what they promise, and run by a real runner on this machine."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import stand_in_aws
import yaml
from checkout import ROOT, SERVICES
from plane import helm
from registry import Registry

WORKFLOWS = ROOT / ".gitea/workflows"
SCRIPTS = ROOT / ".gitea/scripts"
PUBLISH, TEST = "tenant-plane-publish", "tenant-plane-test"


def workflow(name: str) -> dict:
    """A workflow; YAML's `on`, a switch to YAML 1.1, under its own name."""
    parsed = yaml.safe_load((WORKFLOWS / f"{name}.yaml").read_text())
    parsed["on"] = parsed.pop(True)
    return parsed


def test_actionlint_and_shellcheck_have_nothing_to_say_about_the_workflows():
    shellcheck = Path(sys.executable).parent / "shellcheck"
    assert shellcheck.exists()
    files = sorted(str(p) for p in WORKFLOWS.glob("*.yaml"))
    assert len(files) == 3
    command = ["actionlint", "-shellcheck", str(shellcheck), "-config-file", str(ROOT / ".gitea/actionlint.yaml"), *files]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


SCRIPT_FILES = [
    *SCRIPTS.iterdir(),
    *(p for p in (ROOT / "gitops").iterdir() if p.is_file()),
    *(ROOT / "tools" / name for name in ("delivery", "image-base", "images", "move-messages", "sbom", "supply", "tenant-records", "with-docker")),
]


@pytest.mark.parametrize("script", sorted(SCRIPT_FILES), ids=lambda p: p.name)
def test_shellcheck_has_nothing_to_say_about_the_scripts(script):
    command = [str(Path(sys.executable).parent / "shellcheck"), "-x", str(script)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")


def test_pull_requests_reach_the_runner_without_role_and_socket_and_no_other():
    for file in WORKFLOWS.glob("*.yaml"):
        parsed = workflow(file.stem)
        labels = {job["runs-on"] for job in parsed["jobs"].values()}
        if set(parsed["on"]) & {"pull_request", "pull_request_target"}:
            assert labels == {TEST}
            assert "secrets." not in file.read_text() and "vars." not in file.read_text()
        else:
            assert labels == {PUBLISH}
    assert "pull_request_target" not in "".join(p.read_text() for p in WORKFLOWS.glob("*.yaml"))


@pytest.mark.parametrize("name", ["image", "chart"])
def test_publishing_is_for_pushes_to_main_and_runs_on_each_of_them(name):
    parsed = workflow(name)
    assert parsed["on"] == {"push": {"branches": ["main"]}}
    assert "concurrency" not in parsed
    (job,) = parsed["jobs"].values()
    assert job["if"] == "github.event_name == 'push' && github.ref == 'refs/heads/main'"


def test_there_is_one_image_job_a_service():
    strategy = workflow("image")["jobs"]["image"]["strategy"]
    assert strategy["matrix"]["service"] == list(SERVICES)
    assert strategy["fail-fast"] is False


@pytest.mark.parametrize("name", ["image", "chart"])
@pytest.mark.parametrize("empty", ["REGISTRY", "AWS_REGION"])
def test_the_first_step_stops_at_an_empty_variable_and_names_it(name, empty):
    (job,) = workflow(name)["jobs"].values()
    first = job["steps"][0]["run"]
    environment = {"PATH": os.environ["PATH"], "REGISTRY": "r", "AWS_REGION": "a"}
    assert subprocess.run(["bash", "-e", "-c", first], env=environment).returncode == 0
    done = subprocess.run(["bash", "-e", "-c", first], env={**environment, empty: ""}, capture_output=True, text=True)
    assert done.returncode != 0
    assert f"set the Actions variable {empty}" in done.stderr
    needed = set(re.findall(r"vars\.(\w+)", (WORKFLOWS / f"{name}.yaml").read_text()))
    assert needed == {"REGISTRY", "AWS_REGION"}


def test_actions_from_outside_are_fixed_on_a_commit():
    used = [u for p in WORKFLOWS.glob("*.yaml") for u in re.findall(r"uses: (\S+)", p.read_text())]
    assert used
    for action in used:
        assert re.fullmatch(r"actions/checkout@[0-9a-f]{40}", action)


def test_the_tag_is_computed_in_one_place():
    text = "".join(p.read_text() for p in [*WORKFLOWS.glob("*.yaml"), *SCRIPTS.iterdir()])
    assert len(re.findall(r"date -u[^\n]*\+prd-", text)) == 1
    assert "date" not in "".join(p.read_text() for p in WORKFLOWS.glob("*.yaml"))


@pytest.fixture
def gitea(checkout, tmp_path):
    """A repository whose jobs a runner on this machine can run, with a registry that asks for a password."""
    folder = tmp_path / "locked"
    folder.mkdir()
    registry = Registry(folder, htpasswd=stand_in_aws.HTPASSWD)
    # The runner copies what git does not ignore; the stand-in binaries have to be among it.
    checkout.write(".gitignore", "")
    checkout.write("helm-tenant-chart/Chart.yaml", "apiVersion: v2\nname: helm-tenant-chart\nversion: 0.1.0\n")
    checkout.write(".ci/run", "echo the tests ran with CI=$CI and role=${AWS_REGION:-none}\n")
    stand_in_aws.install(tmp_path / "bin")

    def act(event: str, *workflows: str, **variables: str) -> subprocess.CompletedProcess:
        command = ["act", event, "-P", f"{PUBLISH}=-self-hosted", "-P", f"{TEST}=-self-hosted"]
        for name in workflows:
            command += ["-W", f".gitea/workflows/{name}.yaml"]
        values = {"REGISTRY": registry.host, "AWS_REGION": "eu-central-1", **variables}
        for name, value in values.items():
            command += ["--var", f"{name}={value}"]
        settings = {
            "REGISTRY_PLAIN_HTTP": "true",
            "IMAGE_BUILDER": "buildah",
            "IMAGE_BUILD_ARGS": "BINARIES=prebuilt BASE=scratch",
            "BUILDAH_ISOLATION": "chroot",
            "CONTAINERS_STORAGE_CONF": os.environ["CONTAINERS_STORAGE_CONF"],
        }
        for name, value in settings.items():
            command += ["--env", f"{name}={value}"]
        environment = {
            **os.environ,
            "HOME": str(tmp_path / "home"),
            "XDG_CACHE_HOME": str(tmp_path / "home/cache"),
            "PATH": os.pathsep.join([str(tmp_path / "bin"), os.path.dirname(helm()), os.environ["PATH"]]),
        }
        return subprocess.run(command, cwd=checkout.path, env=environment, capture_output=True, text=True, timeout=300)

    def tags(repository: str) -> list[str]:
        login = ["--creds", f"AWS:{stand_in_aws.PASSWORD}", "--tls-verify=false"]
        done = subprocess.run(
            ["skopeo", "list-tags", *login, f"docker://{registry.host}/{repository}"], capture_output=True, text=True
        )
        return yaml.safe_load(done.stdout)["Tags"] if done.returncode == 0 else []

    (tmp_path / "home").mkdir()
    yield checkout, act, tags
    registry.stop()


def with_contents(*images: str) -> list[str]:
    """The tags of these images, each with the list of what it contains."""
    return [*images, *(f"sbom-{image}" for image in images)]


def test_a_runner_pushes_three_images_and_the_chart_for_a_push_to_main_and_nothing_the_second_time(gitea):
    checkout, act, tags = gitea
    checkout.commit("2024-01-02T03:04:05")
    for _ in range(2):
        done = act("push", "image")
        assert done.returncode == 0, done.stdout + done.stderr
        assert {s: sorted(tags(s)) for s in SERVICES} == {s: with_contents("prd-20240102T030405Z") for s in SERVICES}
    assert "the image of this commit exists" in done.stdout
    done = act("push", "chart")
    assert done.returncode == 0, done.stdout + done.stderr
    assert tags("helm-tenant-chart") == ["0.1.0"]


def test_a_runner_builds_the_two_services_of_three_that_changed(gitea):
    checkout, act, tags = gitea
    checkout.commit("2024-01-02T03:04:05")
    act("push", "image")
    checkout.commit("2024-01-03T00:00:00", "producer/src/main.rs", "consumer/src/main.rs")
    done = act("push", "image")
    assert done.returncode == 0, done.stdout + done.stderr
    both = ["prd-20240102T030405Z", "prd-20240103T000000Z"]
    expected = {"producer": with_contents(*both), "consumer": with_contents(*both), "payments": with_contents(both[0])}
    assert {s: sorted(tags(s)) for s in SERVICES} == expected


def test_a_runner_stops_at_a_missing_variable_before_it_does_anything(gitea):
    checkout, act, tags = gitea
    checkout.commit("2024-01-02T03:04:05")
    done = act("push", "image", REGISTRY="")
    assert done.returncode != 0
    assert "set the Actions variable REGISTRY" in done.stdout
    assert "Main Log in" not in done.stdout
    assert tags("producer") == []


def test_a_pull_request_runs_the_tests_alone_and_pushes_nothing(gitea):
    checkout, act, tags = gitea
    checkout.commit("2024-01-02T03:04:05")
    done = act("pull_request", "test")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "the tests ran with CI=true and role=none" in done.stdout
    for name in ("image", "chart"):
        done = act("pull_request", name)
        assert "Could not find any stages to run" in done.stdout + done.stderr
    assert all(tags(repository) == [] for repository in (*SERVICES, "helm-tenant-chart"))
