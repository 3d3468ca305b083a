"""The load generator against the port of a replica, and against servers that answer wrongly."""

import asyncio
import os
import shutil
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from app.config.serving import ActorConfig
from app.errors import AgentError
from app.types import StepKind
from app.wire.http import HttpReply, HttpRequest
from app.wire.steps import StepReply, StepRequest
from deployments.game_port import ListeningPort, max_body_bytes, open_port
from deployments.steps import StepService
from train.bench.compiling import load_generator
from train.bench.generator import Load, LoadError, Mode, Window, run_load
from train.bench.limit import bare_server

pytestmark = [
    pytest.mark.cpp,
    pytest.mark.skipif(shutil.which(os.environ.get("CXX") or "g++") is None, reason="needs a C++ compiler"),
]

QUICK = Load(Mode.HTTP, 0, connections=2, seconds=0.3, warmup_s=0.0)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARRING_HOME", str(tmp_path_factory.mktemp("home")))
        yield load_generator()


class Table:
    """Sessions that echo, and that count what they are asked."""

    def __init__(self) -> None:
        self.playing: set[str] = set()
        self.sessions: set[str] = set()
        self.seqs: list[int | None] = []
        self.answer: bytes | None = None

    async def step(self, request: StepRequest) -> StepReply:
        self.sessions.add(request.session)
        if request.kind is StepKind.START:
            self.playing.add(request.session)
            return StepReply(request.session, b"", 0)
        if request.session not in self.playing:
            raise AgentError(f"{request.session} was not started")
        self.seqs.append(request.seq)
        if request.kind is StepKind.STOP:
            self.playing.remove(request.session)
            return StepReply(request.session, b"", 1)
        assert isinstance(request.body, bytes)
        return StepReply(request.session, request.body if self.answer is None else self.answer, request.seq or 1)


@pytest.fixture
def table() -> Table:
    return Table()


async def status(_request: HttpRequest) -> HttpReply:
    """Stands for the admin side."""
    return HttpReply(200, b'{"pid":%d}' % os.getpid())


@pytest.fixture
async def port(table: Table) -> AsyncIterator[ListeningPort]:
    config = ActorConfig(agents=("a",))
    service = StepService(table.step, status, status, max_body_bytes(config))
    opened = await open_port(config, service, 0, shared=False)
    yield opened
    await opened.close()


async def run(program: Path, load: Load) -> Window:
    return await asyncio.to_thread(run_load, program, load)


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("body_bytes", [0, 5, 64, 4096])
async def test_every_transport_plays_sessions_from_start_to_stop(
    program: Path, port: ListeningPort, table: Table, mode: Mode, body_bytes: int
) -> None:
    load = replace(QUICK, mode=mode, port=port.port, sessions=3, body_bytes=body_bytes, pids=(os.getpid(),))
    window = await run(program, load)
    assert (window.errors, window.first_error) == (0, "")
    assert window.ticks > 0
    assert 0 < window.p50_ms <= window.p99_ms <= window.p999_ms <= window.max_ms
    assert window.watched_cpu_s[0] >= 0
    assert table.sessions == {f"load-{connection}-{session}" for connection in range(2) for session in range(3)}
    assert not table.playing


@pytest.mark.parametrize("mode", [Mode.HTTP, Mode.STEPS, Mode.NATIVE, Mode.BATCH])
async def test_steps_carry_sequence_numbers_where_they_are_asked_for(
    program: Path, port: ListeningPort, table: Table, mode: Mode
) -> None:
    window = await run(program, replace(QUICK, mode=mode, port=port.port, connections=1, seq=True))
    assert window.errors == 0
    assert table.seqs == list(range(1, len(table.seqs) + 1))


@pytest.mark.parametrize("mode", list(Mode))
async def test_an_answer_that_is_not_the_body_is_an_error(
    program: Path, port: ListeningPort, table: Table, mode: Mode
) -> None:
    table.answer = b"something else"
    window = await run(program, replace(QUICK, mode=mode, port=port.port))
    assert window.errors > 0
    assert window.ticks == 0
    assert "wrong answer" in window.first_error


@pytest.mark.parametrize("mode", [Mode.HTTP, Mode.STEPS, Mode.NATIVE, Mode.BATCH])
async def test_a_refused_step_is_an_error_with_its_text(program: Path, port: ListeningPort, mode: Mode) -> None:
    window = await run(program, replace(QUICK, mode=mode, port=port.port, attach=True))
    assert window.errors > 0
    assert "was not started" in window.first_error


async def test_a_closed_connection_is_an_error(program: Path, port: ListeningPort) -> None:
    window = await run(program, replace(QUICK, mode=Mode.BRAY, port=port.port, attach=True))  # Bray's errors close.
    assert window.errors > 0
    assert "closed a connection" in window.first_error


async def test_answers_to_json_must_begin_as_expected(program: Path, port: ListeningPort, table: Table) -> None:
    load = replace(QUICK, port=port.port, body='{"observation":[1]}', expect='{"action":')
    table.answer = b'{"action":1}'
    assert (await run(program, load)).errors == 0
    table.answer = b'{"error":1}'
    assert "wrong answer" in (await run(program, load)).first_error


async def test_connections_reach_the_wanted_process_or_none(program: Path, port: ListeningPort) -> None:
    load = replace(QUICK, port=port.port, only_pid=os.getpid())
    assert (await run(program, load)).errors == 0
    with pytest.raises(LoadError, match="no connection reaches process 1"):
        await run(program, replace(load, only_pid=1))


@contextmanager
def talker(reply: bytes) -> Iterator[int]:
    """Answers whatever comes with the same bytes, on one connection."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                while connection.recv(65536):
                    connection.sendall(reply)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        thread.join(5)


@pytest.mark.parametrize(
    ("mode", "reply"),
    [
        (Mode.HTTP, b"SSH-2.0-server\r\n\r\n"),
        (Mode.HTTP, b"HTTP/1.1 200 OK\r\n\r\n"),
        (Mode.STEPS, b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n[{]"),
        (Mode.BRAY, b"\xff" * 24),
        (Mode.NATIVE, b"\xff" * 24),
        (Mode.NATIVE, b"\0\0\0\2\x0a\x7f"),
        (Mode.HTTP, b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n" * 2),
    ],
)
def test_bytes_that_are_no_reply_end_the_connection_with_an_error(program: Path, mode: Mode, reply: bytes) -> None:
    with talker(reply) as port:
        window = run_load(program, replace(QUICK, mode=mode, port=port, connections=1))
    assert window.errors == 1
    assert window.first_error


@pytest.mark.parametrize(("kind", "modes"), [("http", [Mode.HTTP, Mode.STEPS]), ("frames", [Mode.BRAY])])
def test_the_bare_servers_answer_what_they_are_the_limit_of(program: Path, kind: str, modes: list[Mode]) -> None:
    with bare_server(kind) as bare:
        for mode in modes:
            window = run_load(program, replace(QUICK, mode=mode, port=bare.port, sessions=4, pids=(bare.pid,)))
            assert (window.errors, window.first_error) == (0, "")
            assert window.ticks > 0


def test_a_service_that_does_not_listen_is_named(program: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(LoadError, match=f"cannot connect to 127.0.0.1:{port}"):
        run_load(program, replace(QUICK, port=port))


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"connections": 0}, "--connections and --sessions start at 1"),
        ({"seconds": 0.0}, "--seconds is above 0"),
        ({"body": "{}"}, "--body needs --expect"),
        ({"port": 0}, "--port is needed"),
    ],
)
def test_a_wrong_option_is_refused(program: Path, changes: dict[str, object], told: str) -> None:
    with pytest.raises(LoadError, match=told):
        run_load(program, replace(QUICK, **({"port": 1} | changes)))  # type: ignore[arg-type]


def test_a_line_that_is_no_result_is_refused() -> None:
    with pytest.raises(LoadError, match="which is no result"):
        Window.parse('{"ticks": 1}')
