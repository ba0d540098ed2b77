"""moto as AWS for containers of this machine, with or without TLS, and what one tenant needs in it."""

import json
import socket
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import boto3
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

REGION, ACCOUNT = "eu-central-1", "123456789012"


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def certificates(folder: Path) -> dict[str, Path]:
    """An authority of our own and a certificate of it for localhost, as files: ca, cert, key."""
    now = datetime.now(UTC)

    def make(name: str, issuer: str, key, signer, is_ca: bool):
        built = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
            .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=is_ca, path_length=None), critical=True)
        )
        if not is_ca:
            built = built.add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        return built.sign(signer, hashes.SHA256())

    authority, server = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    pem = serialization.Encoding.PEM
    texts = {
        "ca": make("test authority", "test authority", authority, authority, True).public_bytes(pem),
        "cert": make("localhost", "test authority", server, authority, False).public_bytes(pem),
        "key": server.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()),
    }
    files = {}
    for name, text in texts.items():
        files[name] = folder / f"{name}.pem"
        files[name].write_bytes(text)
    return files


class Moto:
    """A server of moto's on a free loopback port; `tls` has its certificate and key."""

    def __init__(self, tls: dict[str, Path] | None = None):
        self.port = free_port()
        self.endpoint = f"{'https' if tls else 'http'}://localhost:{self.port}"
        command = [str(Path(sys.executable).parent / "moto_server"), "-H", "127.0.0.1", "-p", str(self.port)]
        if tls:
            command += ["-c", str(tls["cert"]), "-k", str(tls["key"])]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.verify = str(tls["ca"]) if tls else None
        end = time.monotonic() + 60
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                break
            except OSError:
                assert self.process.poll() is None and time.monotonic() < end, "moto_server did not start"
                time.sleep(0.1)

    def stop(self) -> None:
        """Ends the server."""
        self.process.terminate()
        self.process.wait()

    def client(self, service: str):
        """A client of this server."""
        return boto3.client(
            service,
            endpoint_url=self.endpoint,
            region_name=REGION,
            aws_access_key_id="testing",
            aws_secret_access_key="testing",
            verify=self.verify,
        )

    def tenant(self, tenant: str) -> None:
        """Queue with its dead-letter queue, table and parameters of a tenant, named as the Terraform module does."""
        sqs, ssm = self.client("sqs"), self.client("ssm")
        name = f"consumer-{tenant}"
        arn = f"arn:aws:sqs:{REGION}:{ACCOUNT}:{name}"
        sqs.create_queue(QueueName=f"{name}-dlq")
        redrive = json.dumps({"deadLetterTargetArn": f"{arn}-dlq", "maxReceiveCount": 10})
        sqs.create_queue(QueueName=name, Attributes={"RedrivePolicy": redrive})
        self.client("dynamodb").create_table(
            TableName=name,
            BillingMode="PAY_PER_REQUEST",
            KeySchema=[{"AttributeName": "tenant_id", "KeyType": "HASH"}, {"AttributeName": "message_id", "KeyType": "RANGE"}],
            AttributeDefinitions=[
                {"AttributeName": "tenant_id", "AttributeType": "S"},
                {"AttributeName": "message_id", "AttributeType": "S"},
            ],
        )
        for parameter, value in {"sqs": arn, "ddb": f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{name}"}.items():
            ssm.put_parameter(Name=f"/{tenant}/consumer_{parameter}", Value=value, Type="String")

    def records(self, tenant: str) -> list[dict]:
        """The rows of a tenant's table."""
        return self.client("dynamodb").scan(TableName=f"consumer-{tenant}")["Items"]
