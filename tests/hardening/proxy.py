"""Debian's HAProxy with the shipped config, in front of ports of this machine."""

import os
import shutil
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from deployments.port import free_port
from tests.e2e.commands import listens, wait_until
from tests.kubernetes.manifests import ROOT

CONFIG = ROOT / "configs" / "proxy" / "haproxy.cfg"
HAPROXY = shutil.which("haproxy", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
needs_haproxy = pytest.mark.skipif(
    HAPROXY is None and not os.environ.get("CI"), reason="haproxy is missing: apt-get install haproxy"
)


@dataclass(frozen=True)
class Proxy:
    """A running proxy.

    Attributes:
      game_port: Where it ends TLS for the game port.
      serve_port: Where it ends TLS for Serve's port.
      certificate: File of the certificate that signs itself.
    """

    game_port: int
    serve_port: int
    certificate: Path

    @property
    def trust(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.certificate))


@contextmanager
def haproxy(folder: Path, game: int, serve: int) -> Iterator[Proxy]:
    """Runs the proxy in front of a game port and of Serve's port."""
    certificate, key, both = folder / "crt", folder / "key", folder / "sparring.pem"
    certify(certificate, key)
    both.write_text(certificate.read_text() + key.read_text())
    proxy = Proxy(free_port(), free_port(), certificate)
    text = CONFIG.read_text(encoding="utf-8").replace("/etc/haproxy/sparring.pem", str(both))
    ports = {":36443": f"127.0.0.1:{proxy.game_port}", ":8443": f"127.0.0.1:{proxy.serve_port}"}
    ports |= {"127.0.0.1:36390": f"127.0.0.1:{game}", "127.0.0.1:8000": f"127.0.0.1:{serve}"}
    for shipped, here in ports.items():
        assert text.count(f" {shipped}") == 1
        text = text.replace(f" {shipped}", f" {here}")
    (folder / "haproxy.cfg").write_text(text)
    with (folder / "haproxy.log").open("wb") as log:
        process = subprocess.Popen([str(HAPROXY), "-f", str(folder / "haproxy.cfg")], stdout=log, stderr=log)
    try:
        wait_until(lambda: listens(proxy.game_port), (folder / "haproxy.log").read_text, 30)
        yield proxy
    finally:
        process.terminate()
        process.wait(30)


def certify(certificate: Path, key: Path) -> None:
    """Writes a certificate for this machine that signs itself, and its key."""
    subject = ("-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1")
    words = ("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    files = ("-keyout", str(key), "-out", str(certificate), "-days", "2")
    done = subprocess.run([*words, *files, *subject], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
