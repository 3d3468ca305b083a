"""The audit of docs/hardening.md: each locked version is asked for, and what is known of one fails it."""

import json
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from tests.docs.blocks import block_of
from tests.docs.readme import reader_env
from tests.http_thread import answering

from .lock import ROOT
from .test_lock import locked

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(1800)]
AUDIT_S = 800.0
"""Longest audit: it looks at the files of all wheels."""
VULNERABLE = "mlflow"
VULNERABILITY = {
    "id": "PYSEC-2026-1",
    "summary": "Runs what it reads.",
    "affected": [{"package": {"name": VULNERABLE, "ecosystem": "PyPI"}, "ranges": []}],
}


@dataclass
class Osv:
    """A vulnerability service that is asked as osv.dev's is (https://google.github.io/osv.dev/post-v1-query/)."""

    url: str = ""
    asked: dict[str, str] = field(default_factory=dict)
    """Versions by package."""


@contextmanager
def osv(vulnerable: str | None = None) -> Iterator[Osv]:
    service = Osv()

    class Answer(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            query = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            package = query["package"]["name"]
            service.asked[package] = query["version"]
            body = json.dumps({"vulns": [VULNERABILITY]} if package == vulnerable else {}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Says nothing."""

    with answering(Answer) as address:
        service.url = f"{address}/v1/query"
        yield service


def audit(home: Path, url: str) -> tuple[int, str]:
    """Types the command of the page, with another vulnerability service; returns its exit code and what it printed."""
    words = shlex.split(block_of("docs/hardening.md", "make audit").text)
    env = reader_env(home) | {"PIP_AUDIT_VULNERABILITY_SERVICE": "osv", "PIP_AUDIT_OSV_URL": url}
    done = subprocess.run(words, cwd=ROOT, env=env, capture_output=True, text=True, timeout=AUDIT_S, check=False)
    return done.returncode, done.stdout + done.stderr


def test_the_command_of_the_page_asks_for_each_version(tmp_path: Path) -> None:
    with osv() as service:
        code, output = audit(tmp_path / "home", service.url)
    assert code == 0, output
    assert "No known vulnerabilities found" in output
    assert service.asked == locked()


def test_what_is_known_of_a_version_fails_it(tmp_path: Path) -> None:
    with osv(VULNERABLE) as service:
        code, output = audit(tmp_path / "home", service.url)
    assert code != 0, output
    assert VULNERABILITY["id"] in output
    assert f"{VULNERABLE} " in output


def test_a_service_that_does_not_answer_fails_it(tmp_path: Path) -> None:
    with osv() as gone:
        pass
    code, output = audit(tmp_path / "home", gone.url)
    assert code != 0, output
    assert "Connection refused" in output
