"""A sandbox with many tenants and a headless Chromium that looks at it."""

import json
import os
import re
import subprocess
import threading
import time
import urllib.request
from pathlib import Path

import pytest
from playwright.sync_api import expect, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
BINARY = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug" / "sandbox"
# The longest id that there is, of each tier, and as many tenants as a page should stand.
LONG = {f"{tier}-tenant-with-the-longest-id-{'x' * 40}"[:40]: tier for tier in ("basic", "advanced", "premium")}
MORE = {f"customer-{number}": "basic" for number in range(4, 18)}
PATIENCE = 30
# Assertions have a patience of their own, which is 5 s unless told.
expect.set_options(timeout=PATIENCE * 1000)


class Sandbox:
    """The sandbox's own binary, on free ports."""

    def __init__(self, tenants):
        command = [str(BINARY), "--port", "0", "--aws-port", "0"]
        for tenant, tier in tenants.items():
            command += ["--tenant", f"{tenant}={tier}"]
        environment = {**os.environ, "AWS_EC2_METADATA_DISABLED": "true"}
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)
        self.lines = []
        self.up = threading.Event()
        threading.Thread(target=self._read, daemon=True).start()
        assert self.up.wait(120), "".join(self.lines)
        self.url = re.search(r"front door (http://[0-9.:]+)", "".join(self.lines))[1]

    def _read(self):
        for line in self.process.stdout:
            self.lines.append(line)
            if line.startswith("Records as they land"):
                self.up.set()
        self.up.set()

    def ask(self, path, body=None, headers=None):
        """The answer's status and text."""
        data = None if body is None else body.encode()
        request = urllib.request.Request(self.url + path, data, headers or {})
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def post(self, tenant, event):
        headers = {"TenantID": tenant, "Content-Type": "application/json"}
        status, text = self.ask("/producer", event, headers)
        assert status == 200, text
        return json.loads(text)["message_id"]

    def stop(self):
        """Ends it as Ctrl-C does; how long that took."""
        began = time.monotonic()
        self.process.terminate()
        assert self.process.wait(20) == 0
        return time.monotonic() - began


@pytest.fixture(scope="session")
def sandbox():
    running = Sandbox({**LONG, **MORE})
    yield running
    running.stop()


@pytest.fixture(scope="session")
def chromium():
    with sync_playwright() as playwright:
        # A browser that root runs has no sandbox of its own.
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=os.environ["CHROMIUM"], args=arguments)
        yield browser
        browser.close()


class Seen:
    """What a page did beside showing itself."""

    def __init__(self):
        self.requests = []
        self.errors = []


@pytest.fixture
def context(chromium):
    made = chromium.new_context(viewport={"width": 1280, "height": 900}, locale="en-GB")
    made.set_default_timeout(PATIENCE * 1000)
    yield made
    made.close()


def open_page(context, url):
    """The page, live, and what it did."""
    page, seen = context.new_page(), Seen()
    page.on("request", lambda request: seen.requests.append(request.url))
    page.on("pageerror", lambda error: seen.errors.append(str(error)))
    page.on("console", lambda message: seen.errors.append(message.text) if message.type in ("error", "warning") else None)
    page.goto(url)
    page.get_by_text("Live", exact=True).wait_for()
    return page, seen
