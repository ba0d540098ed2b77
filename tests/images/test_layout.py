"""What is in an image and what is not."""

import io
import json
import os
import re
import subprocess
import tarfile

import pytest
from conftest import ROOT, SERVICES
from container import docker

MIB = 2**20
# Empty files that docker puts into each container, where it mounts its own.
MOUNT_POINTS = {".dockerenv", "dev/console", "etc/hostname", "etc/hosts", "etc/resolv.conf"}


@pytest.fixture(scope="module", params=SERVICES)
def service(request):
    """Each service."""
    return request.param


@pytest.fixture(scope="module")
def files(service, version):
    """Everything in the image as tar entries by path, and the bytes of a file; without docker's own mount points."""
    container = docker("create", f"{service}:{version}")
    try:
        archive = subprocess.run(["docker", "export", container], capture_output=True, check=True).stdout
    finally:
        docker("rm", container)
    tar = tarfile.open(fileobj=io.BytesIO(archive))
    return {m.name: m for m in tar.getmembers() if m.name not in MOUNT_POINTS}, lambda name: tar.extractfile(name).read()


def test_the_process_is_the_binary_itself_under_a_numeric_user_that_is_not_root(service, version, inspect):
    config = inspect(f"{service}:{version}")["Config"]
    assert config["User"] == "65532:65532"
    assert config["Entrypoint"] == ["/service"]
    assert not config["Cmd"]
    assert sorted(config["ExposedPorts"]) == ["8080/tcp", "9090/tcp"]


def test_labels_and_environment_tell_revision_and_version(service, version, revision, inspect):
    config = inspect(f"{service}:{version}")["Config"]
    assert config["Labels"]["org.opencontainers.image.revision"] == revision
    assert config["Labels"]["org.opencontainers.image.version"] == version
    assert config["Labels"]["org.opencontainers.image.title"] == service
    assert f"SERVICE_VERSION={version}" in config["Env"]


def test_one_layer_with_one_file_is_on_top_of_the_base_that_all_three_share(version, inspect, service):
    layers = {s: inspect(f"{s}:{version}")["RootFS"]["Layers"] for s in SERVICES}
    bases = {tuple(own[:-1]) for own in layers.values()}
    assert len(bases) == 1 and len(bases.pop()) >= 1
    archive = subprocess.run(["docker", "save", f"{service}:{version}"], capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as saved:
        top = json.load(saved.extractfile("manifest.json"))[0]["Layers"][-1]
        with tarfile.open(fileobj=saved.extractfile(top)) as layer:
            entries = [(m.name, oct(m.mode & 0o7777), m.uid) for m in layer.getmembers()]
    assert entries == [("service", "0o755", 0)]


def test_the_image_is_small(service, version, inspect, files):
    assert inspect(f"{service}:{version}")["Size"] <= 45 * MIB
    # The pinned base has 24 MiB; a stand-in has less, so the binary has its own limit.
    assert files[0]["service"].size <= 15 * MIB


def test_there_is_no_program_beside_the_service(files):
    members, _ = files
    programs = [
        name
        for name, m in members.items()
        if m.isfile() and m.mode & 0o111 and name != "service" and not re.search(r"(^|/)(lib|ld-)[^/]*\.so[^/]*$", name)
    ]
    assert programs == []
    assert not [name for name in members if re.search(r"(^|/)(sh|bash|dash|busybox|apt|dpkg)$", name)]
    assert not [name for name, m in members.items() if m.mode & 0o6000]


def test_the_roots_of_certificate_authorities_are_there(files):
    _, read = files
    bundle = read("etc/ssl/certs/ca-certificates.crt").decode()
    assert bundle.count("BEGIN CERTIFICATE") > 100


def test_nothing_of_the_repository_beside_the_binary_is_in_the_image(files):
    members, _ = files
    assert not [n for n in members if n.endswith((".rs", ".toml", ".lock")) or n.startswith((".git", "src/", "tenancy"))]


@pytest.fixture(scope="module")
def context(tmp_path_factory):
    """What .dockerignore lets through to the builder, as a folder."""
    folder = tmp_path_factory.mktemp("context")
    recipe = folder / "Dockerfile"
    recipe.write_text('FROM scratch\nCOPY . /\nCMD ["/none"]\n')
    environment = {**os.environ, "DOCKER_BUILDKIT": "1"}
    command = ["docker", "build", "--quiet", "--file", str(recipe), str(ROOT)]
    image = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()
    container = docker("create", image)
    archive = subprocess.run(["docker", "export", container], capture_output=True, check=True).stdout
    docker("rm", container)
    docker("image", "rm", image)
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        members = [m for m in tar.getmembers() if m.name not in MOUNT_POINTS | {"etc/mtab"}]
        tar.extractall(folder / "files", members=members, filter="data")
    return folder / "files"


def test_the_builder_gets_a_workspace_that_cargo_accepts_as_it_is_locked(context):
    command = ["cargo", "metadata", "--locked", "--offline", "--format-version", "1", "--no-deps"]
    done = subprocess.run(command, cwd=context, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert set(SERVICES) <= {p["name"] for p in json.loads(done.stdout)["packages"]}


def test_the_builder_gets_nothing_that_it_has_no_use_for(context):
    inside = {p.relative_to(context).parts[0] for p in context.rglob("*") if p.is_file()}
    assert not inside & {".git", "target", "gitops", "docs", "terraform", "helm-tenant-chart", ".gitea", "tools"}
    strange = [
        str(p.relative_to(context))
        for p in context.rglob("*")
        if p.is_file() and p.name.endswith((".env", ".pem", ".key", ".tfstate", ".sqlite"))
    ]
    assert strange == []
    assert {p.relative_to(context).parts[1] for p in (context / ".cache").rglob("*") if p.is_file()} <= {"images"}


def build(**arguments: str) -> subprocess.CompletedProcess:
    """A build of the Dockerfile with ready-made binaries on nothing."""
    command = ["docker", "build", "--quiet", "--build-arg", "BINARIES=prebuilt", "--build-arg", "BASE=scratch"]
    for name, value in arguments.items():
        command += ["--build-arg", f"{name}={value}"]
    environment = {**os.environ, "DOCKER_BUILDKIT": "1"}
    return subprocess.run([*command, "."], cwd=ROOT, env=environment, capture_output=True, text=True)


@pytest.mark.parametrize("name", ["", "nobody"])
def test_a_service_that_does_not_exist_makes_no_image(name, version):
    assert build(SERVICE=name).returncode != 0


def test_a_build_of_another_version_changes_the_configuration_and_no_layer(version, inspect, tmp_path):
    stand_in = ROOT / ".cache/images/linux-amd64/stand-in"
    stand_in.parent.mkdir(parents=True, exist_ok=True)
    stand_in.write_text("not run\n")
    crates = stand_in.with_name("stand-in.crates")
    crates.write_text("none\n")
    try:
        layers = set()
        for tag in ("prd-20240101T000000Z", "prd-20240102T000000Z"):
            done = build(SERVICE="stand-in", VERSION=tag)
            assert done.returncode == 0, done.stderr
            image = inspect(done.stdout.strip())
            layers.add(tuple(image["RootFS"]["Layers"]))
            assert f"SERVICE_VERSION={tag}" in image["Config"]["Env"]
            docker("image", "rm", done.stdout.strip())
        assert len(layers) == 1
    finally:
        stand_in.unlink()
        crates.unlink()
