"""Values that are refused before anything is asked of AWS. Only the variables are loaded, so no provider is needed."""

import json
import shutil
import subprocess

import pytest
import toolchain


@pytest.fixture(scope="module")
def plan_with(tmp_path_factory):
    """Plans the module's variables alone; None when they pass, else Terraform's words on one line."""
    folder = tmp_path_factory.mktemp("variables")
    shutil.copy(toolchain.MODULE / "variables.tf", folder)

    def plan(**variables) -> str | None:
        (folder / "terraform.tfvars.json").write_text(json.dumps({"tenant_id": "acme", **variables}))
        done = subprocess.run(
            [toolchain.terraform(), "plan", "-input=false", "-no-color"], cwd=folder, env=toolchain.environment(), capture_output=True, text=True
        )
        return None if done.returncode == 0 else " ".join(done.stderr.replace("│", " ").split())

    return plan


FORM = "tenant_id must be 1 to 40 characters, small letters a-z, digits and dashes, starting with a letter and not ending with a dash (acme, acme-2)."
RESERVED = "tenant_id must not start with aws or ssm: Parameter Store refuses such names."
CLUSTERS = "tenant_id must not be default or start with kube- or flux-: it becomes a namespace, and those are the cluster's own."
POOL = "A tenant_id that starts with pool- names a pool and must be pool-1 to pool-9999."


@pytest.mark.parametrize("tenant_id", ["a", "acme", "acme-2", "tenant-1", "a" * 40, "pool", "poolside", "defaults", "kube", "pool-1", "pool-9999"])
def test_an_id_that_follows_the_rule_is_taken(plan_with, tenant_id):
    assert plan_with(tenant_id=tenant_id) is None


@pytest.mark.parametrize(
    ("tenant_id", "words"),
    [
        *[(bad, FORM) for bad in ("", "1acme", "-acme", "acme-", "ACME", "SSMith", "acme corp", "a/b", "a.b", "../other", "café", "acme\n", "*", "a" * 41)],
        ("acme--corp", "tenant_id must not contain two dashes in a row."),
        ("awsome", RESERVED),
        ("ssmith", RESERVED),
        ("default", CLUSTERS),
        ("kube-system", CLUSTERS),
        ("flux-system", CLUSTERS),
        *[(bad, POOL) for bad in ("pool-0", "pool-01", "pool-10000", "pool-a")],
    ],
)  # fmt: skip
def test_a_bad_tenant_id_is_refused_at_plan_time_with_the_rule(plan_with, tenant_id, words):
    assert words in plan_with(tenant_id=tenant_id)


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("pool_id", "acme", "pool_id must be pool-1 to pool-9999."),
        ("max_message_bytes", 262145, "max_message_bytes must be a whole number from 1024 to 262144"),
        ("max_message_bytes", 2048.5, "max_message_bytes must be a whole number from 1024 to 262144"),
        ("visibility_timeout_seconds", 0, "visibility_timeout_seconds must be a whole number from 1 to 43200."),
        ("message_retention_seconds", 59, "message_retention_seconds must be a whole number from 60 to 1209600"),
        ("queue_kms_key_arn", "alias/queues", "queue_kms_key_arn must be the ARN of a key"),
        ("oidc_provider_arn", "https://oidc.example/id/X", "oidc_provider_arn must look like arn:aws:iam::123456789012:oidc-provider/ISSUER"),
        ("enable_consumer", "maybe", "a bool is required"),
    ],
)
def test_another_bad_value_is_refused_at_plan_time_and_named(plan_with, variable, value, words):
    refused = plan_with(**{variable: value})
    assert words in refused and variable in refused
