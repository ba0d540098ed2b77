"""A Kubernetes control plane on loopback: etcd, kube-apiserver and kube-controller-manager as processes of one test run.

There is no scheduler and no kubelet; `node.py` stands in for those. What answers requests, admits pods, makes pods out of
Deployments and collects garbage is Kubernetes itself.
"""

import ctypes
import os
import secrets
import signal
import socket
import ssl
import subprocess
import time
import urllib.request
from pathlib import Path

import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ("etcd", "kube-apiserver", "kube-controller-manager")

# Only what a release of the chart meets. Left out are controllers that expect kubelets (a node without a heartbeat is
# tainted and its pods are evicted) or that put objects of their own into each namespace.
CONTROLLERS = (
    "deployment-controller",
    "replicaset-controller",
    "garbage-collector-controller",
    "namespace-controller",
    "serviceaccount-controller",
    "disruption-controller",
    "endpointslice-controller",
    "resourcequota-controller",
    "horizontal-pod-autoscaler-controller",
)


class StartFailed(Exception):
    """A process of the control plane ended or did not become ready; the text carries the end of its log."""


def programs() -> dict[str, Path]:
    """Where the three programs are: in KUBEBUILDER_ASSETS as far as it has them, else built by tests/apiserver/build."""
    found = {}
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    if assets:
        found = {name: Path(assets, name) for name in PROGRAMS if Path(assets, name).is_file()}
        if "kube-apiserver" not in found:
            raise StartFailed(f"KUBEBUILDER_ASSETS is {assets}, where there is no kube-apiserver; correct it or unset it")
    missing = [name for name in PROGRAMS if name not in found]
    if missing:
        built = subprocess.run(
            [ROOT / "tests/apiserver/build", *missing], stdout=subprocess.PIPE, text=True, check=False
        )
        if built.returncode:
            raise StartFailed("the control plane could not be built; what tests/apiserver/build said stands above")
        found |= {name: Path(built.stdout.strip(), name) for name in missing}
    return found


class ControlPlane:
    """Starts on `start()`, leaves `kubeconfig` for clients, ends on `stop()`; state and logs are in `folder`."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.kubeconfig = folder / "kubeconfig"
        self._processes: list[tuple[str, subprocess.Popen]] = []

    def start(self) -> None:
        paths = programs()
        # A port that was free a moment ago may be taken by then: on a machine that runs other tests a second try is due.
        for attempt in (1, 2, 3):
            try:
                self._start(paths)
                return
            except StartFailed as failed:
                self.stop()
                if attempt == 3 or "address already in use" not in str(failed):
                    raise

    def stop(self) -> None:
        """Ends the processes, those that depend on others first."""
        for _, process in reversed(self._processes):
            process.terminate()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._processes.clear()

    def _start(self, paths: dict[str, Path]) -> None:
        client, peer, api, manager = _free_ports(4)
        etcd = f"http://127.0.0.1:{client}"
        self._run(
            "etcd",
            [
                paths["etcd"],
                f"--data-dir={self.folder / f'etcd-{client}'}",
                f"--listen-client-urls={etcd}",
                f"--advertise-client-urls={etcd}",
                f"--listen-peer-urls=http://127.0.0.1:{peer}",
                f"--initial-advertise-peer-urls=http://127.0.0.1:{peer}",
                f"--initial-cluster=default=http://127.0.0.1:{peer}",
                "--unsafe-no-fsync",  # the data is thrown away after the run
            ],
            f"{etcd}/health",
        )

        key = self.folder / "service-accounts.key"
        key.write_bytes(
            rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.TraditionalOpenSSL,
                serialization.NoEncryption(),
            )
        )
        token = secrets.token_hex(16)
        tokens = self.folder / "tokens.csv"
        tokens.touch(mode=0o600)
        tokens.write_text(f"{token},admin,admin,system:masters\n")
        server = f"https://127.0.0.1:{api}"
        self._run(
            "kube-apiserver",
            [
                paths["kube-apiserver"],
                f"--etcd-servers={etcd}",
                "--bind-address=127.0.0.1",
                f"--secure-port={api}",
                f"--cert-dir={self.folder / 'certificates'}",
                "--endpoint-reconciler-type=none",
                "--service-cluster-ip-range=10.96.0.0/16",
                "--service-account-issuer=https://kubernetes.default.svc",
                f"--service-account-key-file={key}",
                f"--service-account-signing-key-file={key}",
                "--authorization-mode=RBAC",
                f"--token-auth-file={tokens}",
                "--profiling=false",
                # All of these are on by default; named, so that a release that drops one is noticed.
                "--enable-admission-plugins=NamespaceLifecycle,PodSecurity,ResourceQuota,LimitRanger,ServiceAccount",
            ],
            f"{server}/readyz",
            token,
        )
        self._write_kubeconfig(server, token)
        self._run(
            "kube-controller-manager",
            [
                paths["kube-controller-manager"],
                f"--kubeconfig={self.kubeconfig}",
                "--bind-address=127.0.0.1",
                f"--secure-port={manager}",
                "--leader-elect=false",
                f"--controllers={','.join(CONTROLLERS)}",
                "--horizontal-pod-autoscaler-sync-period=2s",
                # A change in a burst of changes is to be seen at once, not with the next batch.
                "--endpointslice-updates-batch-period=0s",
            ],
            f"https://127.0.0.1:{manager}/healthz",
        )

    def _write_kubeconfig(self, server: str, token: str) -> None:
        # The server's certificate signs itself, so it is the authority that clients need too.
        authority = str(self.folder / "certificates" / "apiserver.crt")
        self.kubeconfig.touch(mode=0o600)
        self.kubeconfig.write_text(
            yaml.safe_dump(
                {
                    "apiVersion": "v1",
                    "kind": "Config",
                    "current-context": "tests",
                    "clusters": [
                        {"name": "tests", "cluster": {"server": server, "certificate-authority": authority}}
                    ],
                    "users": [{"name": "admin", "user": {"token": token}}],
                    "contexts": [{"name": "tests", "context": {"cluster": "tests", "user": "admin"}}],
                }
            )
        )

    def _run(self, name: str, command: list, ready: str, token: str | None = None) -> None:
        log = self.folder / f"{name}.log"
        with log.open("wb") as out:
            process = subprocess.Popen(command, stdout=out, stderr=out, cwd=self.folder, preexec_fn=_end_with_parent)
        self._processes.append((name, process))
        deadline = time.monotonic() + 120
        while not _answers(ready, token):
            if process.poll() is not None:
                raise StartFailed(f"{name} ended with {process.returncode}:\n{_tail(log)}")
            if time.monotonic() > deadline:
                raise StartFailed(f"{name} did not become ready within 120 s:\n{_tail(log)}")
            time.sleep(0.1)


def _answers(url: str, token: str | None) -> bool:
    # Only the readiness of our own child on loopback is asked here; clients check the certificate.
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"} if token else {})
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
    )
    try:
        with opener.open(request, timeout=2) as answer:
            return answer.status == 200
    except OSError:  # URLError and timeouts are kinds of it
        return False


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


def _end_with_parent() -> None:
    """Runs in the child: a test run that is killed leaves no server behind (PR_SET_PDEATHSIG, Linux)."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)


def _tail(log: Path) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-15:])
