"""What the documents tell to type, typed; what they name, looked up."""

import json
import re
import shlex
import shutil

import pytest
import yaml
from checkout import ROOT, run
from plane import GITOPS, PLANE, documents, one

WALKTHROUGH = (ROOT / "docs/walkthrough.md").read_text()
DELIVERY = (ROOT / "docs/delivery.md").read_text()
OPERATIONS = (ROOT / "docs/operations.md").read_text()


@pytest.fixture
def copy(tmp_path):
    """gitops/ as in the repository, to change."""
    shutil.copytree(GITOPS, tmp_path / "gitops")
    return tmp_path


def test_the_rollback_makes_the_older_tag_the_newest_that_the_policy_sees(copy):
    command = re.search(r"<!-- rollback -->\n\n    (sed .*)\n", WALKTHROUGH)[1]
    policy = copy / "gitops/infrastructure/image-automation/producer.yaml"

    def chosen():
        spec = one(documents(policy), "ImagePolicy")["spec"]
        tags = ["prd-20261129T120000Z", "prd-20261130T120000Z", "prd-20261201T120000Z"]
        return [t for t in tags if re.search(spec["filterTags"]["pattern"], t)][-1]

    assert chosen() == "prd-20261201T120000Z"
    run(*shlex.split(command), cwd=copy)
    assert chosen() == "prd-20261130T120000Z"


def test_offboarding_leaves_a_namespace_that_the_second_commit_lets_go(copy):
    """The first commit of the walk-through, then the second, built as Flux does."""
    tenants = copy / "gitops/application-plane/production/tenants"
    file = tenants / "tenant-2.yaml"
    namespace = one(documents(file), "Namespace")
    del namespace["metadata"]["annotations"]
    file.write_text(yaml.safe_dump(namespace))

    def built():
        objects = [o for o in yaml.safe_load_all(run("kustomize", "build", str(tenants))) if o]
        return sorted((o["kind"], o["metadata"].get("annotations")) for o in objects if "tenant-2" in o["metadata"]["name"])

    assert built() == [("Namespace", None)]
    file.unlink()
    listing = tenants / "kustomization.yaml"
    listing.write_text(listing.read_text().replace("  - tenant-2.yaml\n", ""))
    assert built() == []


def test_the_durations_of_the_walkthrough_fit_the_release_s_timeout():
    release = one(documents(PLANE / "tenants/tenant-3.yaml"), "HelmRelease")["spec"]
    assert f"waits up to {release['timeout'].removesuffix('m')} minutes" in WALKTHROUGH
    assert f"every {release['install']['strategy']['retryInterval'].removesuffix('m')} minutes" in WALKTHROUGH
    assert f"after {release['uninstall']['timeout'].removesuffix('m')} minutes" in WALKTHROUGH


@pytest.mark.parametrize("text", [WALKTHROUGH, DELIVERY, OPERATIONS], ids=["walkthrough", "delivery", "operations"])
def test_files_and_commands_that_the_documents_name_exist(text):
    named = set(re.findall(r"(?:tools|gitops|docs|\.gitea)/[\w./-]+\w", text)) - {"gitops/clusters/production/flux-system"}
    assert named or text == OPERATIONS
    assert [n for n in sorted(named) if not (ROOT / n).exists()] == []
    targets = set(re.findall(r"`make ([a-z-]+)`", text))
    makefile = "".join(p.read_text() for p in (ROOT / "mk").glob("*.mk"))
    assert [t for t in targets if not re.search(rf"^{t}:", makefile, re.M)] == []


def test_the_documents_name_the_runner_labels_and_variables_of_the_workflows():
    workflows = "".join(p.read_text() for p in (ROOT / ".gitea/workflows").glob("*.yaml"))
    for label in set(re.findall(r"runs-on: (\S+)", workflows)):
        assert f"--labels {label}:host" in DELIVERY
    for variable in set(re.findall(r"vars\.(\w+)", workflows)):
        assert f"| `{variable}` |" in DELIVERY


def test_the_operator_s_policy_has_every_right_that_the_commands_name_and_no_other():
    policy = json.loads(re.search(r"```json\n(.*?)```", OPERATIONS, re.S)[1])
    given = {action for s in policy["Statement"] for action in ([s["Action"]] if isinstance(s["Action"], str) else s["Action"])}
    sources = [p.read_text() for folder in ("operator", "redrive", "purge") for p in (ROOT / "consumer/src").glob(f"{folder}*/**/*.rs")]
    sources += [(ROOT / f"consumer/src/{name}.rs").read_text() for name in ("redrive", "purge")]
    named = {action for source in sources for action in re.findall(r'"((?:ssm|sqs|dynamodb):[A-Z]\w+)"', source)}
    # Handing back is the drainer's call, whose failure is a warning; the rest is named when it is missing.
    assert given == named | {"sqs:ChangeMessageVisibility"}


def test_the_job_that_runs_a_command_is_one_that_the_namespaces_admit():
    job = yaml.safe_load(re.search(r"<!-- job -->\n\n```yaml\n(.*?)```", OPERATIONS, re.S)[1])
    pod = job["spec"]["template"]["spec"]
    [container] = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"] and pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert container["securityContext"]["allowPrivilegeEscalation"] is False
    # Sent twice by a second pod would be no harm, but who reads the log of the first?
    assert (job["spec"]["backoffLimit"], pod["restartPolicy"]) == (0, "Never")
