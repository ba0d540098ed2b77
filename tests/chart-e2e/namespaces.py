"""The namespaces of the tests: made by them, marked as theirs, and the only ones they touch."""

from api import Api, ApiError, eventually

# Where the Terraform objects of all releases are.
TERRAFORM = "flux-system"
# Put on each namespace that a test makes. Pods elsewhere are none of ours, and no namespace without it is written to.
LABEL = "chart-e2e"
RESTRICTED = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn", "audit")}
# Kubernetes gives each namespace these.
EVERYWHERE = {"v1 ServiceAccount default", "v1 ConfigMap kube-root-ca.crt"}
PATH = "/api/v1/namespaces"


class NotOurCluster(Exception):
    """The cluster has a namespace of this name that the tests did not make: it may be somebody's, even production."""


def make(api: Api, name: str, labels: dict) -> None:
    """Makes the namespace unless a test has; refuses one that is somebody else's."""
    body = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "labels": {LABEL: "true", **labels}},
    }
    try:
        api.call("POST", PATH, body)
    except ApiError as error:
        if error.status != 409:
            raise
        if LABEL not in api.call("GET", f"{PATH}/{name}")["metadata"].get("labels", {}):
            raise NotOurCluster(
                f"the cluster of KUBECONFIG has a namespace {name} that these tests did not make, so they leave it alone: "
                "give them a cluster of their own, or unset KUBECONFIG"
            ) from None
    # Pods are refused until the controller has put the account into the namespace.
    account = f"{PATH}/{name}/serviceaccounts"
    eventually(
        f"namespace {name} has its default service account",
        lambda: "default" in {each["metadata"]["name"] for each in api.call("GET", account)["items"]},
    )


def relabel(api: Api, name: str, labels: dict) -> None:
    """Sets labels of a namespace; one whose value is None is taken away."""
    api.call("PATCH", f"{PATH}/{name}", {"metadata": {"labels": labels}}, "application/merge-patch+json")


def ours(api: Api) -> list[str]:
    return [each["metadata"]["name"] for each in api.call("GET", PATH, labelSelector=LABEL)["items"]]


def delete_all(api: Api) -> None:
    """Nothing that a release leaves may keep a namespace from going."""
    for name in ours(api):
        api.call("DELETE", f"{PATH}/{name}")
    eventually("the tests' namespaces are gone", lambda: not ours(api))
