"""TLS ends at the proxy, and every protocol of the game port passes it."""

import asyncio
import os
import signal
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from app.client.aio import Client as GameClient
from app.client.connection import HttpConnection
from app.client.kept import ConnectionLostError
from tests.deployments.echo_service import EchoService
from tests.deployments.wire_client import WAIT_S, Client, listening, post
from tests.deployments.wire_frames import UPGRADE, bray, bray_reply, native, native_reply, step
from tests.docs.blocks import block_of
from tests.docs.readme import ROOT
from tests.e2e.commands import listens, wait_until

from .proxy import CONFIG, HAPROXY, Proxy, certify, haproxy, needs_haproxy

pytestmark = [pytest.mark.slow, needs_haproxy]

PROGRAM_S = 40.0


@asynccontextmanager
async def proxied(folder: Path) -> AsyncIterator[Proxy]:
    """Runs the proxy in front of a game port; a second listener stands for Serve's port."""
    async with listening(EchoService()) as game, listening(EchoService()) as serve:
        proxy = haproxy(folder, game.port, serve.port)
        running = await asyncio.to_thread(proxy.__enter__)
        try:
            yield running
        finally:
            await asyncio.to_thread(proxy.__exit__, None, None, None)


@asynccontextmanager
async def client(proxy: Proxy) -> AsyncIterator[Client]:
    async with asyncio.timeout(WAIT_S):
        reader, writer = await asyncio.open_connection("localhost", proxy.game_port, ssl=proxy.trust)
    try:
        yield Client(reader, writer)
    finally:
        writer.close()


async def test_all_protocols_of_the_game_port_pass(tmp_path: Path) -> None:
    async with (
        proxied(tmp_path) as proxy,
        client(proxy) as http,
        client(proxy) as frames,
        client(proxy) as messages,
        client(proxy) as socket,
    ):
        http.send(post("/a", b"1"))
        frames.send(bray("b", body=b"2"))
        messages.send(native(step(7, "c", b"3")))
        socket.send(UPGRADE)
        assert (await http.reply()).json == {"path": "/a", "body": "1"}
        assert await bray_reply(frames) == ("b", b"2", 0)
        assert (await native_reply(messages)).answer.body == b"3"
        assert (await socket.reply(head_only=True)).status == 101


async def test_the_client_library_checks_the_certificate(tmp_path: Path) -> None:
    async with proxied(tmp_path) as proxy:
        opened = await HttpConnection.open("localhost", proxy.game_port, timeout_s=WAIT_S, tls=proxy.trust)
        assert (await opened.request("POST", "/a", {}, b"x", WAIT_S)).status == 200
        await opened.close()
        with pytest.raises(ConnectionLostError, match="certificate verify failed"):
            await HttpConnection.open("localhost", proxy.game_port, timeout_s=WAIT_S, tls=ssl.create_default_context())


async def test_a_game_is_played_through_https(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with proxied(tmp_path) as proxy:
        monkeypatch.setenv("SSL_CERT_FILE", str(proxy.certificate))
        async with GameClient(f"https://localhost:{proxy.game_port}") as game:
            answer = await game.session("s").start({"a": 1})
            assert answer.value == {"path": "/step", "body": '{"a":1}'}


async def test_the_program_of_the_page_reaches_the_game_port(tmp_path: Path) -> None:
    block = block_of("docs/hardening.md", "https://", "python")
    async with proxied(tmp_path) as proxy:
        program = block.text.replace("play.example:36443", f"localhost:{proxy.game_port}")
        own = {"SSL_CERT_FILE": str(proxy.certificate), "GAME_SECRET": "s" * 32, "PYTHONPATH": str(ROOT)}
        words = (sys.executable, "-c", program)
        process = await asyncio.create_subprocess_exec(*words, env=os.environ | own, stdout=asyncio.subprocess.PIPE)
        printed, _ = await asyncio.wait_for(process.communicate(), PROGRAM_S)
    assert (process.returncode, printed) == (0, b"ready\n")


def test_the_direct_way_past_the_proxy_is_refused() -> None:
    with pytest.raises(ValueError, match="direct goes past the proxy that ends TLS"):
        GameClient("https://localhost:1", direct=True)


async def test_nothing_is_answered_without_tls_or_by_an_old_one(tmp_path: Path) -> None:
    async with proxied(tmp_path) as proxy:
        async with asyncio.timeout(WAIT_S):
            reader, writer = await asyncio.open_connection("127.0.0.1", proxy.game_port)
            writer.write(post("/a"))
            assert await reader.read() == b""
        old = proxy.trust
        old.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
        old.maximum_version = ssl.TLSVersion.TLSv1_1
        with pytest.raises((ssl.SSLError, OSError)):
            await asyncio.open_connection("localhost", proxy.game_port, ssl=old)


async def test_serves_port_is_http_behind_the_second_one(tmp_path: Path) -> None:
    async with proxied(tmp_path) as proxy, httpx.AsyncClient(verify=proxy.trust) as http:
        answer = await http.post(f"https://localhost:{proxy.serve_port}/step", content=b"x")
        assert answer.status_code == 200


def test_the_shipped_file_is_valid_but_for_the_certificate(tmp_path: Path) -> None:
    pem = tmp_path / "none.pem"
    text = CONFIG.read_text().replace("/etc/haproxy/sparring.pem", str(pem))
    (tmp_path / "haproxy.cfg").write_text(text)
    done = subprocess.run(
        [str(HAPROXY), "-c", "-f", str(tmp_path / "haproxy.cfg")],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    errors = [
        line for line in (done.stdout + done.stderr).splitlines() if "[ALERT]" in line and "fatal" not in line.lower()
    ]
    assert errors
    assert all(str(pem) in line or "Error(s) found" in line for line in errors), errors


@pytest.mark.skipif(os.geteuid() != 0 and not os.environ.get("CI"), reason="writes below /etc, as root")
def test_the_commands_of_the_page_put_it_in_front(tmp_path: Path) -> None:
    """In a mount namespace where /etc/haproxy is another folder, so that the machine's own stays as it is."""
    block = block_of("docs/hardening.md", "fullchain")
    certify(tmp_path / "fullchain.pem", tmp_path / "privkey.pem")
    (tmp_path / "configs").symlink_to(ROOT / "configs")
    words = ("unshare", "--mount", "/bin/bash", "-euc", f"mount -t tmpfs none /etc/haproxy\n{block.text}")
    own = {"PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin"}
    with (tmp_path / "log").open("wb") as log:
        running = subprocess.Popen(
            words, cwd=tmp_path, env=os.environ | own, stdin=subprocess.DEVNULL, stdout=log, stderr=log, process_group=0
        )
    trust = ssl.create_default_context(cafile=str(tmp_path / "fullchain.pem"))
    try:
        wait_until(lambda: listens(36443) and listens(8443), (tmp_path / "log").read_text, PROGRAM_S)
        with httpx.Client(verify=trust) as http:
            assert http.get("https://localhost:8443/-/healthz").status_code == 503  # Nothing runs behind it.
    finally:
        os.killpg(running.pid, signal.SIGTERM)
        running.wait(PROGRAM_S)
