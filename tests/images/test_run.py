"""Each image as a container of the restricted standard, on moto."""

import os
import subprocess

import pytest
from conftest import ROOT, SERVICES, TENANT
from container import docker


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize("user", [None, "12345:12345", "2000"])
def test_any_non_root_user_gets_ready_reports_the_tag_and_stops_with_0(service, user, start, aws, version):
    container = start(service, aws, user=user)
    container.wait(container.ready, "readiness")
    assert container.get(f"/{service}") == (
        200,
        {"tenant_id": None, "environment": TENANT, "version": version, "microservice": service},
    )
    code, seconds = container.stop()
    assert code == 0, container.log()
    # An open poll is finished first, and waits 20 s at most.
    assert seconds < (25 if service == "consumer" else 5)


@pytest.mark.parametrize("service", SERVICES)
def test_interrupt_stops_as_terminate_does(service, start, aws):
    container = start(service, aws)
    container.wait(container.ready, "readiness")
    assert container.stop("INT")[0] == 0


@pytest.mark.parametrize("service", SERVICES)
def test_the_health_check_runs_in_the_image_without_a_shell(service, start, aws):
    container = start(service, aws)
    container.wait(container.ready, "readiness")
    assert docker("exec", container.id, "/service", "healthcheck") == ""
    wrong = ["docker", "exec", container.id, "/service", "healthcheck", f"http://127.0.0.1:{container.admin}/nothing"]
    assert subprocess.run(wrong, capture_output=True).returncode == 1


@pytest.mark.parametrize("service", SERVICES)
def test_a_stop_while_the_start_still_waits_for_its_parameters_is_a_clean_one(service, start, aws):
    container = start(service, aws, ENVIRONMENT="tenant-9")
    container.wait(lambda: container.probe("/livez") == 200, "the admin port")
    assert container.probe("/readyz") == 503
    code, seconds = container.stop()
    assert code == 0, container.log()
    assert seconds < 10


def test_an_event_goes_through_two_images_into_the_table(start, aws):
    # A queue of its own: moto lets the polls of consumers that other tests killed run on, and they take messages with them.
    aws.tenant("tenant-4")
    producer, consumer = (start(service, aws, ENVIRONMENT="tenant-4") for service in ("producer", "consumer"))
    producer.wait(producer.ready, "readiness")
    consumer.wait(consumer.ready, "readiness")
    status, answer = producer.post("/producer", {"TenantID": "tenant-4", "Content-Type": "application/json"}, b'{"n": 1}')
    assert status == 200

    def stored():
        return [r for r in aws.records("tenant-4") if r["message_id"]["S"] == answer["message_id"]]

    consumer.wait(stored, "the record")
    assert stored()[0]["body"]["S"] == '{"n": 1}'


@pytest.fixture(scope="module")
def trusting(tls, version):
    """Image of a service on a base that trusts our own authority as well, and nothing else different."""
    base = "tenant-plane-base:one-more-root"
    subprocess.run([ROOT / "tools/image-base", base], env={**os.environ, "EXTRA_CA": str(tls["ca"])}, check=True)

    def build(service: str) -> str:
        # The very binary of the image under test, put on that base.
        name = f"{service}:one-more-root"
        recipe = f'FROM {base}\nCOPY --from={service}:{version} /service /service\nUSER 65532:65532\nENTRYPOINT ["/service"]\n'
        done = subprocess.run(["docker", "build", "--quiet", "--tag", name, "-"], input=recipe, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return name

    return build


@pytest.mark.parametrize("service", SERVICES)
def test_tls_is_checked_with_the_roots_that_the_image_carries(service, start, aws_tls, trusting):
    trusted = start(service, aws_tls, image=trusting(service))
    trusted.wait(trusted.ready, "readiness over TLS")
    unknown = start(service, aws_tls)
    unknown.wait(lambda: "UnknownIssuer" in unknown.log(), "the refusal of a certificate that no root vouches for")
    assert unknown.probe("/readyz") == 503
