"""What a helm test's pod would find: its image's `healthcheck URL`, followed through the cluster's own objects."""

from urllib.parse import urlsplit

from api import Api, ApiError


def verdict(api: Api, pod: dict) -> str | None:
    """None when the URL leads to a pod that listens there and is ready, else the reason why not."""
    container = pod["spec"]["containers"][0]
    if container.get("command"):
        return "CommandIsNotInTheImage"
    arguments = container.get("args", [])
    if len(arguments) != 2 or arguments[0] != "healthcheck":
        return "NotAHealthcheck"
    url = urlsplit(arguments[1])
    if url.scheme != "http" or not url.hostname or not url.path:
        return "NotAnHttpUrl"
    name, namespace, *rest = [*url.hostname.split("."), pod["metadata"]["namespace"]]
    if len(url.hostname.split(".")) == 1:
        namespace = pod["metadata"]["namespace"]
    elif rest[:-1] not in ([], ["svc"], ["svc", "cluster", "local"]):
        return "NotANameOfTheCluster"
    try:
        service = api.call("GET", f"/api/v1/namespaces/{namespace}/services/{name}")
    except ApiError as error:
        return f"Service{error.status}"
    port = next((p for p in service["spec"]["ports"] if p["port"] == (url.port or 80)), None)
    if port is None:
        return "ServiceHasNoSuchPort"
    return None if addresses(api, namespace, name, port.get("name")) else "NoReadyPod"


def addresses(api: Api, namespace: str, service: str, port: str | None) -> set[str]:
    """`address:port` of every ready pod behind a Service's port, as Kubernetes itself has found them."""
    slices = api.objects(
        "discovery.k8s.io/v1", "EndpointSlice", namespace, labelSelector=f"kubernetes.io/service-name={service}"
    )
    return {
        f"{address}:{listed['port']}"
        for each in slices
        for listed in each["ports"] or []
        if listed.get("name") == port and listed.get("port")
        for endpoint in each["endpoints"] or []
        if endpoint["conditions"].get("ready")
        for address in endpoint["addresses"]
    }
