"""Whether the objects in the cluster are those that a chart renders: every field it says, and none that it stopped saying."""

import copy
import re
from decimal import Decimal
from typing import Any, Iterator

from api import Api

# Filled in by the server for this one object: two objects of the same content differ in them.
OWN_TO_AN_OBJECT = {
    "metadata": {"name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"},
    "spec": {"clusterIP", "clusterIPs", "nodePort", "healthCheckNodePort"},
}
# Added by Helm and by controllers, on top of what the chart renders.
ADDED_LATER = {
    "labels": {"app.kubernetes.io/managed-by"},
    "annotations": {
        "meta.helm.sh/release-name",
        "meta.helm.sh/release-namespace",
        "deployment.kubernetes.io/revision",
    },
}
QUANTITY = re.compile(r"^(\d+(?:\.\d+)?)(m|k|M|G|T|Ki|Mi|Gi|Ti)?$")
UNIT = {"m": Decimal("0.001"), "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
UNIT |= {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, None: 1}


def identity(object_: dict) -> str:
    """Kind and full name, as a person would write them down: `apps/v1 Deployment acme/acme-producer`."""
    meta = object_["metadata"]
    return f"{object_['apiVersion']} {object_['kind']} {meta['namespace']}/{meta['name']}"


def lost(rendered: Any, live: Any, at: str = "") -> Iterator[str]:
    """Each field that was rendered and that the live object has not, or has with another value."""
    if isinstance(rendered, dict):
        for key, value in rendered.items():
            inner = f"{at}.{key}" if at else key
            if value in (None, {}, []) and (not isinstance(live, dict) or key not in live):
                continue  # the server leaves out what is empty
            if not isinstance(live, dict) or key not in live:
                yield f"{inner} is missing, rendered as {value!r}"
            else:
                yield from lost(value, live[key], inner)
    elif isinstance(rendered, list):
        if not isinstance(live, list) or len(live) != len(rendered):
            yield f"{at} is {live!r}, rendered as {rendered!r}"
        else:
            for index, (mine, theirs) in enumerate(zip(rendered, live)):
                yield from lost(mine, theirs, f"{at}[{index}]")
    elif not _same(rendered, live):
        yield f"{at} is {live!r}, rendered as {rendered!r}"


def remained(fresh: dict, live: dict) -> Iterator[str]:
    """Each field in which a live object differs from one that the server would make anew from the same manifest."""
    yield from _differ(_content(fresh), _content(live), "")


def assert_as_rendered(api: Api, rendered: list[dict]) -> None:
    """Reads every object back. A Deployment's replicas are left out where none are rendered: a scaler owns them."""
    wrong = []
    for manifest in rendered:
        live = api.get(manifest)
        anew = copy.deepcopy(manifest)
        anew["metadata"]["name"] = "made-anew"
        fresh = api.create(anew, dryRun="All")
        # A deprecated field, an environment variable given twice, a pod that Pod Security will refuse.
        wrong += [f"{identity(manifest)}: the server warns: {warning}" for warning in api.warnings]
        if manifest["kind"] == "Deployment" and "replicas" not in manifest["spec"]:
            del fresh["spec"]["replicas"], live["spec"]["replicas"]
        wrong += [f"{identity(manifest)}: {each}" for each in (*lost(manifest, live), *remained(fresh, live))]
    assert not wrong, "\n".join(wrong)


def versions(api: Api, rendered: list[dict]) -> dict[str, dict]:
    """Which object stands under each name and what was last written to it: equal before and after means nothing was.

    A controller may write the status of some kinds at any time, which gives a new resourceVersion; of those the rest is
    compared, with what the API server noted of every write by somebody else.
    """
    result = {}
    for manifest in rendered:
        live = api.get(manifest)
        meta = live["metadata"]
        state = {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}
        if live.get("status"):
            writes = [entry for entry in meta["managedFields"] if entry.get("subresource") != "status"]
            state = {"uid": meta["uid"], "generation": meta.get("generation"), "writes": writes}
        result[identity(manifest)] = state
    return result


def _content(object_: dict) -> dict:
    content = {key: value for key, value in object_.items() if key != "status"}
    for part, keys in OWN_TO_AN_OBJECT.items():
        if isinstance(content.get(part), dict):
            content[part] = {key: value for key, value in content[part].items() if key not in keys}
    meta = content["metadata"]
    for part, keys in ADDED_LATER.items():
        meta[part] = {key: value for key, value in meta.get(part, {}).items() if key not in keys}
    return content


def _differ(fresh: Any, live: Any, at: str) -> Iterator[str]:
    if isinstance(fresh, dict) and isinstance(live, dict):
        for key in sorted(fresh.keys() | live.keys()):
            inner = f"{at}.{key}" if at else key
            if key not in live:
                yield f"{inner} is missing, made anew it would be {fresh[key]!r}"
            elif key not in fresh:
                yield f"{inner} is {live[key]!r}, made anew it would not be there"
            else:
                yield from _differ(fresh[key], live[key], inner)
    elif fresh != live:
        yield f"{at} is {live!r}, made anew it would be {fresh!r}"


def _same(rendered: Any, live: Any) -> bool:
    if rendered == live and type(rendered) is type(live):
        return True
    # The server writes quantities in their shortest form, and takes bare numbers for them: 1 becomes "1", 1024Mi 1Gi.
    if not isinstance(live, str) or not QUANTITY.match(str(rendered)) or not QUANTITY.match(live):
        return False
    return quantity(rendered) == quantity(live)


def quantity(written: Any) -> Decimal:
    """The amount of a Kubernetes quantity such as 500m or 64Mi, in its base unit."""
    match = QUANTITY.match(str(written))
    assert match, f"{written!r} is no quantity"
    return Decimal(match[1]) * UNIT[match[2]]
