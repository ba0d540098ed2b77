"""The image job against a real registry and a real git server: which commit is pushed under which tag, and which is not."""

import pytest
from checkout import SERVICES, run

FIRST = "2024-01-02T03:04:05"
FIRST_TAG = "prd-20240102T030405Z"


def revisions(registry, service):
    """tag → revision label, of all tags of a service."""
    labels = {}
    for tag in registry.tags(service):
        for config in registry.configs(service, tag).values():
            labels[tag] = config["config"]["Labels"]["org.opencontainers.image.revision"]
    return labels


def test_the_first_push_makes_an_image_of_both_platforms_under_the_time_of_the_commit(checkout, registry):
    commit = checkout.commit(FIRST)
    job = checkout.publish(registry.host, "producer")
    assert job.code == 0, job.err
    assert registry.tags("producer") == [FIRST_TAG]
    configs = registry.configs("producer", FIRST_TAG)
    assert sorted(configs) == ["linux/amd64", "linux/arm64"]
    for platform, config in configs.items():
        assert config["architecture"] == platform.removeprefix("linux/")
        assert config["config"]["Labels"]["org.opencontainers.image.revision"] == commit
        assert config["config"]["Labels"]["org.opencontainers.image.version"] == FIRST_TAG
        assert f"SERVICE_VERSION={FIRST_TAG}" in config["config"]["Env"]


def test_the_time_of_the_commit_is_taken_in_utc_whatever_the_zone_of_runner_and_author(checkout, registry):
    checkout.git("commit", "-q", "--allow-empty", "-m", "x", env={"GIT_COMMITTER_DATE": "2024-06-01T01:30:00+05:30"})
    checkout.git("push", "-q", "origin", "main")
    job = checkout.job(registry.host, "plan-image", "producer", TZ="America/New_York")
    assert job.outputs["tag"] == "prd-20240531T200000Z"


def test_the_same_commit_again_is_success_and_pushes_nothing(checkout, registry):
    commit = checkout.commit(FIRST)
    checkout.publish(registry.host, "producer")
    again = checkout.publish(registry.host, "producer")
    assert (again.code, again.outputs["action"]) == (0, "none")
    assert FIRST_TAG in again.outputs["reason"]
    assert revisions(registry, "producer") == {FIRST_TAG: commit}


def test_a_job_of_an_older_commit_pushes_nothing_after_main_moved_on(checkout, registry):
    old = checkout.commit(FIRST)
    new = checkout.commit("2024-01-03T00:00:00", "producer/Cargo.toml")
    checkout.publish(registry.host, "producer")
    checkout.git("checkout", "-q", old)
    rerun = checkout.publish(registry.host, "producer")
    assert (rerun.code, rerun.outputs["action"]) == (0, "none")
    assert new in rerun.outputs["reason"]
    assert revisions(registry, "producer") == {"prd-20240103T000000Z": new}


def test_main_that_moves_during_the_build_stops_the_push(checkout, registry):
    old = checkout.commit(FIRST)
    plan = checkout.job(registry.host, "plan-image", "producer")
    assert plan.outputs["action"] == "build"
    checkout.commit("2024-01-03T00:00:00", "producer/Cargo.toml")
    checkout.git("checkout", "-q", old)
    push = checkout.job(registry.host, "push-image", "producer", plan.outputs["tag"])
    assert push.code == 0
    assert "not the head of main any more" in push.err
    assert registry.tags("producer") == []


@pytest.mark.parametrize("script, more", [("plan-image", []), ("push-image", [FIRST_TAG])])
@pytest.mark.parametrize(
    "event, ref",
    [
        ("pull_request", "refs/pull/7/merge"),
        ("pull_request", "refs/heads/main"),
        ("push", "refs/heads/feature"),
        ("push", "refs/tags/main"),
        ("schedule", "refs/heads/main"),
    ],
)
def test_nothing_but_a_push_to_main_gets_anywhere(checkout, registry, script, more, event, ref):
    checkout.commit(FIRST)
    job = checkout.job(registry.host, script, "producer", *more, GITHUB_EVENT_NAME=event, GITHUB_REF=ref)
    assert job.code == 1
    assert f"only a push to main publishes, not {event} of {ref}" in job.err
    assert job.outputs == {}
    assert registry.tags("producer") == []


@pytest.mark.parametrize("name", ["REGISTRY", "GITHUB_SHA", "GITHUB_REF", "GITHUB_EVENT_NAME"])
@pytest.mark.parametrize("value", [None, ""])
def test_a_missing_or_empty_variable_is_named_and_stops_the_job(checkout, registry, name, value):
    checkout.commit(FIRST)
    for script, more in (("plan-image", []), ("push-image", [FIRST_TAG])):
        job = checkout.job(registry.host, script, "producer", *more, **{name: value})
        assert job.code == 1
        assert f"empty: {name}." in job.err
    assert registry.tags("producer") == []


def test_of_three_services_the_two_that_changed_are_built(checkout, registry):
    first = checkout.commit(FIRST)
    for service in SERVICES:
        checkout.publish(registry.host, service)
    second = checkout.commit("2024-01-03T00:00:00", "producer/src/main.rs", "payments/src/lib.rs")
    actions = {service: checkout.publish(registry.host, service).outputs["action"] for service in SERVICES}
    assert actions == {"producer": "build", "consumer": "none", "payments": "build"}
    assert revisions(registry, "producer") == {FIRST_TAG: first, "prd-20240103T000000Z": second}
    assert revisions(registry, "consumer") == {FIRST_TAG: first}
    assert revisions(registry, "payments") == {FIRST_TAG: first, "prd-20240103T000000Z": second}


@pytest.mark.parametrize(
    "changed", ["tenancy/src/lib.rs", "Cargo.lock", "Cargo.toml", "Dockerfile", ".dockerignore", "rust-toolchain.toml"]
)
def test_what_all_services_are_made_of_rebuilds_each(checkout, registry, changed):
    checkout.commit(FIRST)
    checkout.publish(registry.host, "consumer")
    checkout.commit("2024-01-03T00:00:00", changed)
    assert checkout.job(registry.host, "plan-image", "consumer").outputs["action"] == "build"


def test_a_commit_of_documents_or_of_the_image_automation_builds_nothing(checkout, registry):
    checkout.commit(FIRST)
    checkout.publish(registry.host, "consumer")
    checkout.commit("2024-01-03T00:00:00", "README.md", "gitops/application-plane/production/tenants/tenant-1.yaml")
    job = checkout.job(registry.host, "plan-image", "consumer")
    assert (job.outputs["action"], job.outputs["reason"]) == ("none", f"consumer has not changed since {FIRST_TAG}")


def test_a_commit_that_was_skipped_is_caught_up_by_the_next_even_if_that_changes_nothing_itself(checkout, registry):
    checkout.commit(FIRST)
    checkout.publish(registry.host, "producer")
    checkout.commit("2024-01-03T00:00:00", "producer/src/main.rs")  # its job never ran
    head = checkout.commit("2024-01-04T00:00:00", "README.md")
    job = checkout.publish(registry.host, "producer")
    assert job.outputs["action"] == "build"
    assert revisions(registry, "producer")["prd-20240104T000000Z"] == head


def test_a_commit_older_than_the_newest_image_gets_the_next_second_above_it(checkout, registry):
    checkout.commit("2024-02-29T23:59:59")
    checkout.publish(registry.host, "producer")
    commit = checkout.commit(FIRST, "producer/src/main.rs")
    job = checkout.publish(registry.host, "producer")
    assert job.code == 0, job.err
    assert revisions(registry, "producer")["prd-20240301T000000Z"] == commit
    again = checkout.publish(registry.host, "producer")
    assert (again.outputs["action"], again.outputs["reason"]) == (
        "none",
        "the image of this commit exists: prd-20240301T000000Z",
    )


def test_two_commits_of_one_second_get_two_tags(checkout, registry):
    checkout.commit(FIRST)
    checkout.publish(registry.host, "producer")
    checkout.commit(FIRST, "producer/src/main.rs")
    assert checkout.publish(registry.host, "producer").outputs["tag"] == "prd-20240102T030406Z"


def test_an_image_of_a_commit_that_the_clone_does_not_have_is_replaced(checkout, registry):
    checkout.commit(FIRST, "producer/src/main.rs")
    checkout.publish(registry.host, "producer")
    checkout.git("update-ref", "-d", "refs/heads/main")
    checkout.commit("2024-01-03T00:00:00", "producer/src/main.rs")
    run("git", "reflog", "expire", "--expire=now", "--all", cwd=checkout.path)
    run("git", "gc", "-q", "--prune=now", cwd=checkout.path)
    job = checkout.job(registry.host, "plan-image", "producer")
    assert job.outputs["action"] == "build"
    assert "is not in this clone" in job.outputs["reason"]


def copy(registry, source, target):
    """Puts another tag on an image that is there."""
    host = f"docker://{registry.host}"
    flags = ("--src-tls-verify=false", "--dest-tls-verify=false", "--all")
    run("skopeo", "copy", "-q", *flags, f"{host}/{source}", f"{host}/{target}")


def test_tags_of_another_shape_do_not_count_as_the_newest(checkout, registry):
    checkout.commit(FIRST)
    checkout.publish(registry.host, "producer")
    for decoy in ("prd-20991231T235959Z-debug", "dev-20990101T000000Z", "prd-latest", "prd-20250101T000000"):
        copy(registry, f"producer:{FIRST_TAG}", f"producer:{decoy}")
    checkout.commit("2024-01-03T00:00:00", "producer/src/main.rs")
    assert checkout.job(registry.host, "plan-image", "producer").outputs["tag"] == "prd-20240103T000000Z"


def test_a_tag_that_is_no_time_is_refused_with_what_to_do_about_it(checkout, registry):
    checkout.commit(FIRST)
    checkout.publish(registry.host, "producer")
    copy(registry, f"producer:{FIRST_TAG}", "producer:prd-99999999T999999Z")
    checkout.commit("2024-01-03T00:00:00", "producer/src/main.rs")
    job = checkout.job(registry.host, "plan-image", "producer")
    assert job.code == 1
    assert "prd-99999999T999999Z is no time" in job.err and "delete it from the registry" in job.err
    assert "action" not in job.outputs


def test_a_tag_that_another_commit_took_meanwhile_is_not_overwritten(checkout, registry):
    first = checkout.commit(FIRST)
    plan = checkout.job(registry.host, "plan-image", "producer")
    checkout.publish(registry.host, "producer")
    checkout.commit(FIRST, "producer/src/main.rs")
    push = checkout.job(registry.host, "push-image", "producer", plan.outputs["tag"])
    assert push.code == 1
    assert "run the job again" in push.err
    assert revisions(registry, "producer") == {FIRST_TAG: first}


def test_a_registry_that_does_not_answer_never_counts_as_empty(checkout, registry):
    checkout.commit(FIRST)
    registry.stop()
    job = checkout.job(registry.host, "plan-image", "producer")
    assert job.code == 1
    assert "cannot list the tags" in job.err
    assert job.outputs == {}


def test_a_git_server_that_does_not_answer_stops_the_job(checkout, registry):
    checkout.commit(FIRST)
    checkout.origin.rename(checkout.origin.with_suffix(".gone"))
    job = checkout.job(registry.host, "plan-image", "producer")
    assert job.code == 1
    assert "cannot ask the git server" in job.err


def test_a_service_that_does_not_exist_is_refused_by_name(checkout, registry):
    checkout.commit(FIRST)
    job = checkout.job(registry.host, "plan-image", "sandbox")
    assert job.code == 1
    assert "there is no service 'sandbox'" in job.err
