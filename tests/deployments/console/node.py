"""A node's admin paths behind a real listener, without Ray: what a browser looks at."""

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from app.config.load import load
from app.errors import NotFoundError
from app.logs.entry import Entry
from app.metrics.query import MetricQuery
from app.metrics.registry import Registry
from app.metrics.reports import ReplicaReport
from app.sessions.listing import SessionList
from app.stores.alarms import AlarmStore
from app.stores.errors import ErrorStore
from app.stores.metrics import MetricStore
from app.stores.metrics_values import Episode, Update
from app.types import Purpose
from app.wire.http import HttpReply, HttpRequest
from app.wire.steps import Credentials, StepReply, StepRequest
from deployments.admin import Admin
from deployments.alarm_pages import AlarmPages
from deployments.console.pages import ConsolePages
from deployments.console.ring import ring_of
from deployments.error_pages import ErrorPages
from deployments.league_pages import NO_LEAGUE, LeaguePages
from deployments.listener.detecting import DetectingConnection
from deployments.listener.port import Connections
from deployments.metric_pages import MetricPages
from deployments.record_pages import RecordPages
from deployments.recording_pages import RecordingPages
from deployments.steps import StepService
from deployments.trial_pages import TrialPages
from deployments.weights_pages import WeightsPages
from tests.deployments.league import Asked
from tests.deployments.league import pages as league_pages
from tests.deployments.test_weights_pages import PUBLISHED_S, Shelf

CONFIG = Path(__file__).parents[3] / "configs" / "league.yaml"
HOST = "127.0.0.1"
WAIT_S = 10.0

T = TypeVar("T")
ADMIN_KEY = "operator-0123456789"


class Recorders:
    """What records the games of a node."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, int]] = []
        """Sessions with 0, and agents with their games."""

    def ask_session(self, session: str) -> None:
        self.asked.append((session, 0))

    def ask_games(self, agent: str, count: int) -> None:
        self.asked.append((agent, count))


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
    metrics: MetricStore = field(default_factory=MetricStore)
    alarms: AlarmStore = field(default_factory=AlarmStore)
    recorders: Recorders = field(default_factory=Recorders)
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

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        """Returns what comes of some work on the loop that answers."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(WAIT_S)

    def play(self, ticks: int, returned: float) -> None:
        """Has the replica answer some ticks and end an episode, and tells the metric store of it."""
        episode = Episode(Purpose.TRAIN, returned, ticks, "player")
        self.do(self.metrics.report([episode], {"ticks_train": ticks, "starts": 1}))
        self.do(self.metrics.hear(self.said()))

    def learn(self, number: int, trainer: str, **metrics: float) -> None:
        """Has a trainer make an update."""
        self.do(self.metrics.update(Update(number, float(number), metrics, trainer)))

    def log(self, entry: Entry) -> None:
        """Has a process log an error."""
        self.do(self.errors.add([entry]))

    async def step(self, request: StepRequest) -> StepReply:
        self.stopped.append(request)
        self.sessions.pop(request.session, None)
        return StepReply(request.session, b"null", 4, None)


class Measured:
    """The metric store as the pages ask it, without Ray."""

    def __init__(self, store: MetricStore) -> None:
        self._store = store

    async def query(self, query: MetricQuery) -> list[dict[str, Any]]:
        answer = await self._store.query(query)
        if answer.unknown is not None:
            raise NotFoundError(answer.unknown)
        return answer.series

    async def names(self) -> list[dict[str, Any]]:
        return await self._store.metric_names()


def admin_of(node: Node, league: LeaguePages, folder: Path) -> Admin:
    """Returns the admin side of a node that shows the parts of a shipped config."""
    sessions = SessionList(node.sessions, "one", "player", lambda: 1.0)
    pages = TrialPages(
        weights=WeightsPages(Shelf(), {"main": 2**20}, lambda: PUBLISHED_S + 2.5),
        league=league,
        errors=ErrorPages(node.errors),
        alarms=AlarmPages(node.alarms),
        metrics=MetricPages(Measured(node.metrics)),
        recordings=RecordingPages(folder, ["recordings"]),
        console=ConsolePages(ring_of(load(CONFIG))),
    )
    record = RecordPages(node.recorders)
    return Admin(node.said, sessions, None, node.may_see, f"{HOST}:36390", pages, record, Registry())


@contextmanager
def serving(folder: Path, *, with_league: bool = True) -> Iterator[Node]:
    """Runs a node on a loop of its own, in a thread, for as long as the block; recordings lie below the folder."""
    node, asked = Node(), Asked()
    if with_league:
        asked.play(5)
    admin = admin_of(node, league_pages(asked) if with_league else NO_LEAGUE, folder)

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
