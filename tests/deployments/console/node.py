"""A node's admin paths behind a real listener, without Ray: what a browser looks at."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from app.config.load import load
from app.logs.entry import Entry
from app.metrics.reports import ReplicaReport
from app.sessions.listing import SessionList
from app.stores.errors import ErrorStore
from app.types import Purpose
from app.wire.http import HttpReply, HttpRequest
from app.wire.steps import Credentials, StepReply, StepRequest
from deployments.admin import Admin
from deployments.console.pages import ConsolePages
from deployments.console.ring import ring_of
from deployments.error_pages import ErrorPages
from deployments.league_pages import NO_LEAGUE, LeaguePages
from deployments.listener.detecting import DetectingConnection
from deployments.listener.port import Connections
from deployments.steps import StepService
from deployments.weights_pages import WeightsPages
from tests.deployments.league import Asked
from tests.deployments.league import pages as league_pages
from tests.deployments.test_weights_pages import Shelf

CONFIGS = Path(__file__).parents[3] / "configs"
HOST = "127.0.0.1"
WAIT_S = 10.0
ADMIN_KEY = "operator-0123456789"


@dataclass
class Open:
    purpose: Purpose = Purpose.TRAIN
    seq: int = 3
    used_at_s: float = 0.0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


@dataclass
class Node:
    """One replica; tests change what it says while a browser looks."""

    port: int = 0
    sessions: dict[str, Open] = field(default_factory=dict)
    report: ReplicaReport = field(
        default_factory=lambda: ReplicaReport("one", "main", "sparring", HOST, 36390, 1, healthy=True, ready=True)
    )
    guarded: bool = False
    """Whether only the administrator's key opens the admin paths."""
    asked: list[HttpRequest] = field(default_factory=list)
    errors: ErrorStore = field(default_factory=lambda: ErrorStore(10))
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)
    """Where it answers."""
    stopped: list[StepRequest] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}/console"

    def said(self) -> ReplicaReport:
        sessions = SessionList(self.sessions, "one", "player", lambda: 1.0).by_purpose()
        return replace(self.report, sessions=sessions)

    def may_see(self, credentials: Credentials | None) -> bool:
        return not self.guarded or (credentials is not None and credentials.key == ADMIN_KEY)

    def log(self, entry: Entry) -> None:
        """Has a process log an error."""
        asyncio.run_coroutine_threadsafe(self.errors.add([entry]), self.loop).result(WAIT_S)

    async def step(self, request: StepRequest) -> StepReply:
        self.stopped.append(request)
        self.sessions.pop(request.session, None)
        return StepReply(request.session, b"null", 4, None)


def admin_of(node: Node, league: LeaguePages, config: str = "league.yaml") -> Admin:
    """Returns the admin side of a node that shows the parts of a shipped config."""
    sessions = SessionList(node.sessions, "one", "player", lambda: 1.0)
    weights, console = WeightsPages(Shelf(), {"main": 2**20}), ConsolePages(ring_of(load(CONFIGS / config)))
    errors, address = ErrorPages(node.errors), f"{HOST}:36390"
    return Admin(node.said, sessions, None, node.may_see, address, weights, league, errors, console)


@contextmanager
def serving(*, with_league: bool = True) -> Iterator[Node]:
    """Runs a node on a loop of its own, in a thread, for as long as the block."""
    node, asked = Node(), Asked()
    if with_league:
        asked.play(5)
    admin = admin_of(node, league_pages(asked) if with_league else NO_LEAGUE)

    async def show(request: HttpRequest) -> HttpReply:
        node.asked.append(request)
        return await admin.show(request)

    ready, stop = threading.Event(), asyncio.Event()
    loop = node.loop

    async def run() -> None:
        connections = Connections(StepService(node.step, show, show, 10_000), 10_000)
        server = await loop.create_server(lambda: DetectingConnection(connections), HOST, 0)
        node.port = server.sockets[0].getsockname()[1]
        ready.set()
        await stop.wait()
        server.close()
        await connections.finish(1.0)

    thread = threading.Thread(target=lambda: loop.run_until_complete(run()), daemon=True)
    thread.start()
    try:
        assert ready.wait(WAIT_S)
        yield node
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(WAIT_S)
        loop.close()
