"""Sends requests made from each service's OpenAPI document to the service: right ones, wrong ones, and whatever lies between.

Run by `make openapi-test`. The services are those of a sandbox's pool, asked without the front door, which would answer much of
it itself. The seed is fixed, so a run finds what the run before found. Arguments go to schemathesis.
"""

import json
import os
import re
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SANDBOX = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug" / "sandbox"
SERVICES = ("producer", "consumer", "payments")
EXAMPLES = "30"


def start():
    """A sandbox, and the URL of its front door."""
    command = [str(SANDBOX), "--port", "0", "--aws-port", "0"]
    environment = {**os.environ, "AWS_EC2_METADATA_DISABLED": "true"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    url = None
    for line in process.stdout:
        url = url or (found := re.search(r"front door (http://[0-9.:]+)", line)) and found[1]
        if line.startswith("Records as they land"):
            break
    else:
        sys.exit("openapi-test: the sandbox did not start; `make run ARGS=--once` says why")
    # Read on, so that the sandbox never waits for us.
    threading.Thread(target=lambda: [None for _ in process.stdout], daemon=True).start()
    return process, url


def check(service, address, more):
    """Whether everything that was sent was answered as the document says."""
    command = [
        str(Path(sys.executable).parent / "schemathesis"), "--config-file", str(HERE / "schemathesis.toml"),
        "run", f"http://{address}/{service}/openapi.json", "--max-examples", EXAMPLES, *more,
    ]
    began = time.monotonic()
    print(f"--- {service}", flush=True)
    status = subprocess.run(command, cwd=HERE, env={**os.environ, "NO_COLOR": "1"}).returncode
    print(f"--- {service}: {'as documented' if status == 0 else 'NOT as documented'}, {time.monotonic() - began:.0f} s", flush=True)
    return status == 0


def main():
    process, url = start()
    try:
        with urllib.request.urlopen(f"{url}/console/plane.json", timeout=30) as answer:
            deployed = json.load(answer)["services"]
        of_pool = {one["service"]: one["address"] for one in deployed if one["environment"] == "pool-1"}
        results = [check(service, of_pool[service], sys.argv[1:]) for service in SERVICES]
    finally:
        process.terminate()
        process.wait(20)
    sys.exit(0 if all(results) else 1)


main()
