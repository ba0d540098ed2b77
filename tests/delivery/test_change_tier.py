"""gitops/change-tier: another tier in the same file, under the same release."""

import os
import shutil
import subprocess

import pytest
from plane import GITOPS, PLANE, documents, onboard, one, render


@pytest.fixture
def plane(tmp_path):
    """A copy of the plane that a test may change."""
    return shutil.copytree(PLANE, tmp_path / "plane")


def change(plane, *arguments):
    """Runs the script on the copy."""
    return subprocess.run(
        [GITOPS / "change-tier", *arguments], env={**os.environ, "PLANE": str(plane)}, capture_output=True, text=True
    )


@pytest.mark.parametrize("old", ["basic", "advanced", "premium"])
@pytest.mark.parametrize("new", ["basic", "advanced", "premium"])
def test_the_release_keeps_its_name_and_takes_the_values_of_the_new_tier(old, new, plane, tmp_path):
    onboard(plane, old, "acme")
    onboard(plane, new, "other")
    file = plane / "tenants/acme.yaml"
    done = change(plane, new, "acme")
    if old == new:
        assert (done.returncode, done.stderr) == (1, f"gitops/change-tier: acme is {old} already\n")
        return
    assert done.returncode == 0, done.stderr
    objects = documents(file)
    release = one(objects, "HelmRelease")
    assert release["metadata"]["name"] == release["spec"]["releaseName"] == f"acme-{old}"
    assert release["metadata"]["labels"]["saas.example.com/tier"] == new
    wanted = one(documents(plane / "tenants/other.yaml"), "HelmRelease")["spec"]["values"]
    assert release["spec"]["values"]["apps"] == wanted["apps"]
    # A basic tenant's namespace admits no pods; one that runs its own must not keep that.
    assert [o["metadata"]["name"] for o in objects if o["kind"] == "ResourceQuota"] == (["basic"] if new == "basic" else [])
    assert one(render(release, tmp_path), "Terraform")["metadata"]["name"] == "acme"


@pytest.mark.parametrize("old", ["advanced", "premium"])
def test_a_tenant_that_moves_to_the_pool_keeps_its_own_table_protected(old, plane):
    onboard(plane, old, "acme")
    assert change(plane, "basic", "acme").returncode == 0
    infra = one(documents(plane / "tenants/acme.yaml"), "HelmRelease")["spec"]["values"]["infra"]
    assert infra == {"destroyResourcesOnDeletion": False, "deletionProtection": True}


def test_there_and_back_is_the_file_as_it_was(plane):
    onboard(plane, "advanced", "acme")
    file = plane / "tenants/acme.yaml"
    before = file.read_text()
    change(plane, "premium", "acme")
    assert file.read_text() != before
    change(plane, "advanced", "acme")
    assert file.read_text() == before


@pytest.mark.parametrize(
    "arguments, why",
    [
        (["premium", "nobody"], "there is no tenant 'nobody'"),
        (["premium", "kustomization"], "has no tier label"),
        (["premium", "../pooled-envs/pool-1"], "there is no tenant"),
        (["gold", "tenant-1"], "there is no tier 'gold'"),
    ],
)
def test_what_is_no_tenant_or_no_tier_is_refused_and_nothing_is_written(arguments, why, plane):
    before = {p: p.read_bytes() for p in plane.rglob("*") if p.is_file()}
    done = change(plane, *arguments)
    assert done.returncode == 1
    assert why in done.stderr
    assert {p: p.read_bytes() for p in plane.rglob("*") if p.is_file()} == before
