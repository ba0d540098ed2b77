"""A room to apply the module in: one stand-in for AWS, and a folder with a state for each environment."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

import boto3
import toolchain

ACCOUNT = "123456789012"
REGION = "eu-west-1"
CLUSTER = "eks-saas-gitops"
# As long as SQS itself refuses the name of a deleted queue.
REFUSE_SECONDS = 60


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class StandIn:
    """moto_server in a process of its own, with an EKS cluster and its OIDC provider in each region that asks for one."""

    def __init__(self, folder: Path) -> None:
        port = _free_port()
        self.endpoint = f"http://127.0.0.1:{port}"
        self.log = folder / "stand-in.log"
        with self.log.open("w") as log:
            self._process = subprocess.Popen(
                [sys.executable, str(Path(__file__).with_name("stand_in.py")), str(port), str(REFUSE_SECONDS)],
                stdout=log, stderr=subprocess.STDOUT, env={**os.environ, "AWS_EC2_METADATA_DISABLED": "true"},
            )  # fmt: skip
        deadline = time.monotonic() + 60
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"moto_server did not start:\n{self.log.read_text()}")
            time.sleep(0.1)

    def _answers(self) -> bool:
        try:
            urllib.request.urlopen(f"{self.endpoint}/moto-api/", timeout=5).close()
            return True
        except (urllib.error.URLError, OSError):
            return False

    def client(self, service: str, region: str = REGION):
        return boto3.client(
            service, region_name=region, endpoint_url=self.endpoint, aws_access_key_id="test", aws_secret_access_key="test"
        )

    def make_cluster(self, region: str = REGION, partition: str = "aws") -> str:
        """An EKS cluster with an OIDC provider in IAM; the provider's ARN."""
        eks = self.client("eks", region)
        eks.create_cluster(
            name=CLUSTER, version="1.33", roleArn=f"arn:{partition}:iam::{ACCOUNT}:role/cluster", resourcesVpcConfig={"subnetIds": ["subnet-1"]}
        )
        issuer = eks.describe_cluster(name=CLUSTER)["cluster"]["identity"]["oidc"]["issuer"]
        made = self.client("iam", region).create_open_id_connect_provider(
            Url=issuer, ClientIDList=["sts.amazonaws.com"], ThumbprintList=["a" * 40]
        )
        return made["OpenIDConnectProviderArn"]

    def refusals(self, queue: str) -> int:
        """How often the name of a queue was refused because it had just been deleted."""
        return self.log.read_text().splitlines().count(f"refused {queue}")

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(timeout=20)


class Refused(Exception):
    """Terraform's own words, when it ended with an error."""


@dataclass
class Environment:
    """One environment's state, as tofu-controller keeps one a tenant."""

    tenant_id: str
    folder: Path
    endpoint: str
    region: str = REGION
    variables: dict = field(default_factory=dict)

    def _run(self, *arguments: str) -> str:
        env = toolchain.environment(
            AWS_ENDPOINT_URL=self.endpoint,
            AWS_REGION=self.region,
            AWS_ACCESS_KEY_ID="test",
            AWS_SECRET_ACCESS_KEY="test",
            TF_DATA_DIR=str(self.folder / ".terraform"),
        )
        done = subprocess.run([toolchain.terraform(), *arguments], cwd=self.folder, env=env, capture_output=True, text=True, timeout=1800)
        if done.returncode:
            raise Refused(f"{' '.join(arguments[:1])} of {self.tenant_id}:\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def _variables(self, changed: dict) -> list[str]:
        self.variables.update(changed)
        (self.folder / "terraform.tfvars.json").write_text(json.dumps({"tenant_id": self.tenant_id, **self.variables}))
        return ["-input=false", "-no-color"]

    def plan(self, **changed) -> dict:
        """The plan as Terraform's own JSON."""
        self._run("plan", *self._variables(changed), "-out=plan")
        return json.loads(self._run("show", "-json", "plan"))

    def apply(self, **changed) -> str:
        """Applies with the variables so far and these; Terraform's closing line."""
        out = self._run("apply", *self._variables(changed), "-auto-approve")
        return next(line for line in out.splitlines() if line.startswith("Apply complete!"))

    def destroy(self) -> str:
        out = self._run("destroy", *self._variables({}), "-auto-approve")
        return next(line for line in out.splitlines() if line.startswith("Destroy complete!"))

    def resources(self) -> list[str]:
        """Addresses of what the state holds, without data sources."""
        return sorted(line for line in self._run("state", "list").split() if not line.startswith("data."))

    def outputs(self) -> dict:
        return {name: output["value"] for name, output in json.loads(self._run("output", "-json")).items()}


class Lab:
    """The stand-in and one initialised copy of the module, from which each environment gets its folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.template = folder / "template"
        toolchain.init(self.template)
        self.aws = StandIn(folder)
        self.oidc_provider_arn = self.aws.make_cluster()

    def environment(self, tenant_id: str, region: str = REGION, folder: str = "", **variables) -> Environment:
        """A new environment with an empty state. The tables may be deleted unless the test says otherwise."""
        path = self.folder / (folder or f"{region}-{tenant_id}")
        shutil.copytree(self.template, path, symlinks=True)
        return Environment(tenant_id, path, self.aws.endpoint, region, {"deletion_protection": False, **variables})

    def stop(self) -> None:
        self.aws.stop()
