"""The list of what an image is made of: what is in it, and that each image has one beside it."""

import json
import subprocess

import pytest
from checkout import ROOT, SERVICES
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

FIRST = "2024-01-02T03:04:05"
TAG = "prd-20240102T030405Z"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"


def attached(registry, service, tag):
    """The manifest of an image's list, and the list."""
    manifest = registry.get(f"{service}/manifests/sbom-{tag}", MANIFEST)
    return manifest, registry.get(f"{service}/blobs/{manifest['layers'][0]['digest']}", "*/*")


def test_an_image_has_the_list_of_its_crates_beside_it(checkout, registry):
    commit = checkout.commit(FIRST)
    job = checkout.publish(registry.host, "producer")
    assert job.code == 0, job.err
    assert registry.all_tags("producer") == [TAG, f"sbom-{TAG}"]
    manifest, sbom = attached(registry, "producer", TAG)
    assert manifest["artifactType"] == manifest["layers"][0]["mediaType"] == "application/vnd.cyclonedx+json"
    assert manifest["annotations"]["org.opencontainers.image.revision"] == commit
    assert sbom["metadata"]["component"] | {"licenses": []} == {
        "type": "container", "bom-ref": "image", "name": "producer", "version": TAG, "licenses": []
    }  # fmt: skip
    components = {c["name"]: c for c in sbom["components"]}
    # Of both platforms, once each, and the base that the Dockerfile names.
    assert sorted(components) == [
        "bytes", "gcr.io/distroless/cc-debian12", "only-on-linux-amd64", "only-on-linux-arm64", "producer", "tenancy"
    ]  # fmt: skip
    assert len(sbom["components"]) == len(components)
    assert components["bytes"]["purl"] == "pkg:cargo/bytes@1.10.0"
    assert components["bytes"]["hashes"] == [{"alg": "SHA-256", "content": "ab" * 32}]
    assert components["only-on-linux-arm64"]["licenses"] == [{"expression": "MIT OR Apache-2.0"}]
    assert "purl" not in components["tenancy"], "it is in no registry"
    assert len(components["gcr.io/distroless/cc-debian12"]["hashes"][0]["content"]) == 64


def test_a_list_that_an_earlier_try_left_is_no_obstacle(checkout, registry):
    checkout.commit(FIRST)
    checkout.publish(registry.host, "producer")
    # As if the image had failed: its tag is gone, the list is there.
    subprocess.run(["skopeo", "delete", "--tls-verify=false", f"docker://{registry.host}/producer:{TAG}"], check=True)
    assert registry.all_tags("producer") == [f"sbom-{TAG}"]
    again = checkout.publish(registry.host, "producer")
    assert (again.code, registry.tags("producer")) == (0, [TAG]), again.err


def test_a_list_that_names_nothing_stops_the_job_before_the_image(checkout, registry):
    for platform in ("linux-amd64", "linux-arm64"):
        checkout.write(f".cache/images/{platform}/producer.crates", "")
    checkout.commit(FIRST)
    job = checkout.publish(registry.host, "producer")
    assert job.code == 1
    assert "names no crate" in job.err
    assert registry.all_tags("producer") == []


@pytest.fixture(scope="module", params=SERVICES)
def real(request):
    """The list of a service of this repository."""
    subprocess.run([ROOT / "tools/sbom", request.param], check=True, capture_output=True, text=True)
    return request.param, (ROOT / f"target/sbom/{request.param}.cdx.json").read_text()


def test_the_lists_of_the_services_are_cyclonedx_and_name_what_is_linked(real):
    service, text = real
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    components = {c["name"]: c for c in json.loads(text)["components"]}
    assert {service, "tenancy", "tokio", "rustls", "ring", "aws-sdk-sqs", "aws-sdk-ssm"} <= set(components)
    # Neither what tests are made of, nor what ran at compile time, nor the other services.
    assert not {"proptest", "cc", "serde_derive", "sandbox", "dynoxide-rs", *SERVICES} - {service} & set(components)
    missing = [n for n, c in components.items() if n not in (service, "tenancy") and not (c.get("hashes") and (c.get("licenses") or c["type"] == "container"))]
    assert missing == []
