"""A repository like ours with a server of its own (a bare repository), as a job of the pipeline finds it."""

import os
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SERVICES = ("producer", "consumer", "payments")
# What is linked into a binary, as `cargo tree` tells it, and the lock file that it was built by.
CRATES = """\
{service} v0.1.0 (/src/{service})|Apache-2.0
tenancy v0.1.0 (/src/tenancy)|Apache-2.0
bytes v1.10.0|MIT
bytes v1.10.0|MIT (*)
only-on-{platform} v1.0.0|MIT/Apache-2.0
"""
LOCK = f"""\
version = 4

[[package]]
name = "bytes"
version = "1.10.0"
source = "registry+https://example.com/index"
checksum = "{"ab" * 32}"

[[package]]
name = "tenancy"
version = "0.1.0"
"""


def run(*command: str, cwd: Path | None = None, env: dict | None = None) -> str:
    """The command's output without the last newline; an error with all it said when it fails."""
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stdout}{done.stderr}"
    return done.stdout.rstrip("\n")


class Job:
    """What a pipeline step said and left: exit code, both streams, outputs for later steps."""

    def __init__(self, done: subprocess.CompletedProcess, outputs: dict[str, str]):
        self.code, self.out, self.err, self.outputs = done.returncode, done.stdout, done.stderr, outputs


class Checkout:
    """The work tree at `path`, with `origin` as the server."""

    def __init__(self, folder: Path):
        self.origin, self.path, self.folder = folder / "origin.git", folder / "work", folder
        run("git", "init", "-q", "--bare", "-b", "main", str(self.origin))
        run("git", "init", "-q", "-b", "main", str(self.path))
        self.git("remote", "add", "origin", str(self.origin))
        for name in ("Dockerfile", ".dockerignore", ".gitignore"):
            shutil.copy(ROOT / name, self.path / name)
        shutil.copytree(ROOT / ".gitea", self.path / ".gitea")
        for crate in (*SERVICES, "tenancy"):
            self.write(f"{crate}/Cargo.toml", f'[package]\nname = "{crate}"\n')
        self.write("Cargo.toml", "[workspace]\n")
        self.write("Cargo.lock", LOCK)
        # The stage with ready-made binaries takes these; ignored by git as in a developer's tree.
        for platform in ("linux-amd64", "linux-arm64"):
            for service in SERVICES:
                self.write(f".cache/images/{platform}/{service}", f"{service} for {platform}\n")
                self.write(f".cache/images/{platform}/{service}.crates", CRATES.format(service=service, platform=platform))

    def git(self, *arguments: str, env: dict | None = None) -> str:
        """A git command in the work tree."""
        identity = ("-c", "user.name=test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false")
        return run("git", *identity, *arguments, cwd=self.path, env={**os.environ, **(env or {})})

    def write(self, name: str, text: str) -> None:
        """A file of the work tree, folders included."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def commit(self, at: str, *changed: str, push: bool = True) -> str:
        """Changes the named files, commits at that UTC time (2024-01-02T03:04:05), pushes, and gives the commit's id."""
        for name in changed:
            path = self.path / name
            self.write(name, (path.read_text() if path.exists() else "") + f"# {at}\n")
        self.git("add", "-A")
        stamp = {"GIT_COMMITTER_DATE": f"{at}+00:00", "GIT_AUTHOR_DATE": "2001-01-01T00:00:00+00:00"}
        self.git("commit", "-q", "--allow-empty", "-m", "change", env=stamp)
        if push:
            self.git("push", "-q", "--force", "origin", "main")
        return self.git("rev-parse", "HEAD")

    def job(self, registry: str, script: str, *arguments: str, **variables: str | None) -> Job:
        """Runs a pipeline script as a step of a job for the checked out commit on main; None removes a variable."""
        output = self.folder / f"output-{datetime.now(UTC).timestamp()}"
        output.touch()
        environment = {
            **os.environ,
            "REGISTRY": registry,
            "REGISTRY_PLAIN_HTTP": "true",
            "AWS_REGION": "eu-central-1",
            "AWS_EC2_METADATA_DISABLED": "true",
            "GITHUB_EVENT_NAME": "push",
            "GITHUB_REF": "refs/heads/main",
            "GITHUB_SHA": self.git("rev-parse", "HEAD"),
            "GITHUB_OUTPUT": str(output),
            "IMAGE_BUILDER": "buildah",
            "IMAGE_BUILD_ARGS": "BINARIES=prebuilt BASE=scratch",
        }
        for name, value in variables.items():
            environment.pop(name, None)
            if value is not None:
                environment[name] = value
        command = [str(self.path / ".gitea/scripts" / script), *arguments]
        done = subprocess.run(command, cwd=self.path, env=environment, capture_output=True, text=True, timeout=300)
        outputs = dict(line.split("=", 1) for line in output.read_text().splitlines())
        return Job(done, outputs)

    def publish(self, registry: str, service: str, **variables: str | None) -> Job:
        """The steps of the image job after the login: plan, then build and push when the plan says so."""
        plan = self.job(registry, "plan-image", service, **variables)
        if plan.code or plan.outputs["action"] != "build":
            return plan
        pushed = self.job(registry, "push-image", service, plan.outputs["tag"], **variables)
        pushed.outputs = plan.outputs
        return pushed
