"""Which builder the scripts choose on which machine."""

import subprocess

import pytest
from checkout import ROOT

BASH = "/bin/bash"


@pytest.fixture
def machine(tmp_path):
    """A machine with the given programs on its PATH, in that order; gives what find_builder finds there."""

    def find(*programs: str, want: str = "") -> str:
        path = []
        for number, program in enumerate(programs):
            name, _, kind = program.partition(":")
            folder = tmp_path / str(number)
            folder.mkdir()
            text = "exit 0"
            if name == "docker":
                version, *traits = kind.split("+")
                text = f"""
case "$1" in
    version) {"exit 1" if "down" in traits else f"echo {version}"} ;;
    buildx) {"exit 0" if "buildx" in traits else "exit 1"} ;;
esac"""
            (folder / name).write_text(f"#!{BASH}\n{text}\n")
            (folder / name).chmod(0o755)
            path.append(str(folder))
        # The tools that the function itself calls.
        tools = tmp_path / "tools"
        tools.mkdir()
        (tools / "cut").symlink_to("/usr/bin/cut")
        script = 'set -eu; . "$0/lib.sh"; . "$0/builder.sh"; find_builder; echo "$builder ${docker#"$1"/}"'
        done = subprocess.run(
            [BASH, "-c", script, str(ROOT / ".gitea/scripts"), str(tmp_path)],
            env={"PATH": ":".join([*path, str(tools)]), "IMAGE_BUILDER": want},
            capture_output=True,
            text=True,
        )
        return done.stdout.strip() if done.returncode == 0 else done.stderr.strip()

    return find


def test_docker_with_buildx_is_the_first_choice(machine):
    assert machine("docker:28.2.2+buildx", "buildah") == "buildx 0/docker"


def test_a_new_docker_client_without_its_plugin_is_passed_over_for_an_older_one_that_can_build(machine):
    assert machine("docker:28.2.2", "docker:20.10.24", "buildah") == "buildkit 1/docker"


def test_a_client_without_a_daemon_is_passed_over(machine):
    assert machine("docker:28.2.2+buildx+down", "buildah") == "buildah"


def test_without_docker_it_is_buildah(machine):
    assert machine("buildah") == "buildah"


def test_a_builder_can_be_asked_for_by_name(machine):
    assert machine("docker:28.2.2+buildx", "buildah", want="buildah") == "buildah"


@pytest.mark.parametrize("want, named", [("", ""), ("buildx", " with buildx")])
def test_nothing_that_can_build_is_an_error_that_says_what_to_install(machine, want, named):
    message = machine("docker:28.2.2", want=want)
    assert f"no way to build images{named}: start docker (with its buildx plugin) or install buildah" in message
