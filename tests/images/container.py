"""One container of one service, on the machine's own network so that it reaches moto on loopback."""

import json
import subprocess
import time
import urllib.error
import urllib.request

from aws import REGION, free_port


def docker(*arguments: str) -> str:
    """A docker command's output; an error with all it said when it fails."""
    done = subprocess.run(["docker", *arguments], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"docker {' '.join(arguments)}: {done.stdout}{done.stderr}"
    return done.stdout.strip()


class Container:
    """Started as Kubernetes does under the restricted standard: read-only root, no capabilities, a non-root user."""

    def __init__(self, image: str, tenant: str, endpoint: str, user: str | None = None, **settings: str):
        self.port, self.admin = free_port(), free_port()
        values = {
            "ENVIRONMENT": tenant,
            "HOST": "127.0.0.1",
            "PORT": str(self.port),
            "ADMIN_PORT": str(self.admin),
            "AWS_REGION": REGION,
            "AWS_ENDPOINT_URL": endpoint,
            "AWS_ACCESS_KEY_ID": "testing",
            "AWS_SECRET_ACCESS_KEY": "testing",
            "AWS_EC2_METADATA_DISABLED": "true",
            "DRAIN_DELAY": "0s",
            **settings,
        }
        command = ["run", "--detach", "--network", "host", "--read-only", "--cap-drop", "ALL"]
        command += ["--security-opt", "no-new-privileges", *(["--user", user] if user else [])]
        for name, value in values.items():
            command += ["--env", f"{name}={value}"]
        self.id = docker(*command, image)

    def get(self, path: str) -> tuple[int, dict]:
        """Status and JSON body of a GET on the tenants' port that is expected to succeed."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=5) as answer:
            return answer.status, json.loads(answer.read())

    def post(self, path: str, headers: dict[str, str], body: bytes = b"") -> tuple[int, dict]:
        """Status and JSON body of a POST that is expected to succeed."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data=body, headers=headers, method="POST")
        with urllib.request.urlopen(request, timeout=15) as answer:
            return answer.status, json.loads(answer.read())

    def probe(self, path: str) -> int:
        """Status of a path of the admin port; 0 when nobody answers."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.admin}{path}", timeout=5) as answer:
                return answer.status
        except urllib.error.HTTPError as answer:
            return answer.code
        except OSError:
            return 0

    def ready(self) -> bool:
        """What the readiness probe sees."""
        return self.probe("/readyz") == 200

    def wait(self, condition, what: str, seconds: float = 30) -> None:
        """Until the condition holds; an error with the log when it does not in time or the process has ended."""
        end = time.monotonic() + seconds
        while not condition():
            running = docker("inspect", "--format", "{{.State.Running}}", self.id) == "true"
            assert running and time.monotonic() < end, f"{what} did not come; log:\n{self.log()}"
            time.sleep(0.1)

    def log(self) -> str:
        """Both streams of the container."""
        done = subprocess.run(["docker", "logs", self.id], capture_output=True, text=True)
        return done.stdout + done.stderr

    def stop(self, signal: str = "TERM") -> tuple[int, float]:
        """Sends the signal; exit code and seconds until the end. SIGKILL (137) after 60 s."""
        begin = time.monotonic()
        docker("kill", "--signal", signal, self.id)
        done = subprocess.run(["timeout", "60", "docker", "wait", self.id], capture_output=True, text=True)
        seconds = time.monotonic() - begin
        return (int(done.stdout) if done.returncode == 0 else 137), seconds

    def remove(self) -> None:
        """Ends it if need be, and takes it away."""
        subprocess.run(["docker", "rm", "--force", self.id], capture_output=True)
