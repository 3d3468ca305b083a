"""The admin paths of one replica."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import jsonschema
import orjson
import pytest

from app.config.load import load
from app.errors import BadRequestError, SessionUnknownError, UnauthorizedError
from app.metrics import names
from app.metrics.documents import document_of
from app.metrics.query import MetricQuery
from app.metrics.registry import Registry
from app.metrics.reports import ReplicaReport
from app.metrics.table import SeriesTable
from app.sessions.listing import SessionList
from app.stores.alarms import AlarmStore
from app.stores.errors import ErrorStore
from app.types import Purpose
from app.wire.http import HttpReply, HttpRequest
from app.wire.openapi import openapi
from app.wire.operations import OPERATIONS
from app.wire.routes import ROUTES
from app.wire.steps import Credentials
from deployments.admin import Admin
from deployments.alarm_pages import AlarmPages
from deployments.console.pages import ConsolePages
from deployments.console.ring import ring_of
from deployments.error_pages import ErrorPages
from deployments.metric_pages import MetricPages
from deployments.others import Others
from deployments.record_pages import RecordPages
from deployments.recording_pages import RecordingPages
from deployments.trial_pages import TrialPages
from deployments.weights_pages import WeightsPages
from tests.deployments.league import Asked
from tests.deployments.league import pages as league_pages
from tests.deployments.test_weights_pages import Shelf
from tests.recordings.played import write_games

CONFIG = Path(__file__).parents[2] / "configs" / "rl.yaml"
HOST = "127.0.0.1"


@dataclass
class Open:
    purpose: Purpose = Purpose.TRAIN
    seq: int = 3
    used_at_s: float = 0.0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


def report(name: str, sessions: int = 0, **changes: Any) -> ReplicaReport:
    found = ReplicaReport(name, "main", "sparring", HOST, 36390, 1, healthy=True, ready=True)
    return replace(found, sessions={"train": sessions}, counts={"starts": sessions}, **changes)


def get(path: str, method: bytes = b"GET", **fields: str) -> HttpRequest:
    return HttpRequest(method, path, fields, b"", True)


def anyone(credentials: Credentials | None) -> bool:
    return True


def admin(
    name: str = "one",
    *sessions: str,
    peers: Others | None = None,
    may_see: Callable[[Credentials | None], bool] = anyone,
    folder: Path = Path("nowhere"),
    measured: "Measured | None" = None,
    **changes: Any,
) -> Admin:
    table = {session: Open() for session in sessions}
    shown = SessionList(table, name, "player", lambda: 1.0)
    pages = TrialPages(
        weights=WeightsPages(Shelf(), {"main": 2**20}),
        league=league_pages(Asked()),
        errors=ErrorPages(ErrorStore(10)),
        alarms=AlarmPages(AlarmStore()),
        metrics=MetricPages(measured or Measured()),
        recordings=RecordingPages(folder, ["recordings"]),
        console=ConsolePages(ring_of(load(CONFIG))),
    )
    own = report(name, len(sessions), **changes)
    record = RecordPages(Recorded(sessions))
    return Admin(lambda: own, shown, peers, may_see, "10.0.0.1:36390", pages, record, Registry())


class Recorded:
    """Records the open sessions of one replica."""

    def __init__(self, sessions: Sequence[str]) -> None:
        self._sessions = sessions

    def ask_session(self, session: str) -> None:
        if session not in self._sessions:
            raise SessionUnknownError(f"{session} is not open")

    def ask_games(self, agent: str, count: int) -> None:
        if agent != "player":
            raise BadRequestError(f"agent is {agent}")


class Measured:
    """A metric store with one metric."""

    def __init__(self) -> None:
        self._table = SeriesTable()
        self._table.add(names.STARTS, {}, 3, 0.0)

    async def query(self, query: MetricQuery) -> list[dict[str, Any]]:
        return self._table.query(query, 1.0)

    async def of_trial(self) -> list[dict[str, Any]]:
        return [document_of(part) for part in self._table.of_trial()]

    async def names(self) -> list[dict[str, Any]]:
        return self._table.names()


def filled(path: str) -> str:
    """Returns a path of the document as it may be asked for."""
    values = {
        "id": "a", "model": "main", "version": "latest", "file": "app.js", "folder": "recordings",
        "name": "player.parquet", "number": "0",
    }  # fmt: skip
    return path.format(**values)


def read(reply: HttpReply) -> Any:
    assert reply.status == 200
    return orjson.loads(reply.body)


async def test_health_tells_what_blocks_the_loop_and_goes_on_to_be_healthy() -> None:
    shown = read(await admin(degraded="blocked in on_tick (agents.py:3)").show(get("/healthz")))
    blocked = {"degraded": "blocked in on_tick (agents.py:3)", "stuck": []}
    assert shown == {"replica": "one", "healthy": True, "ready": True} | blocked


async def test_health_names_the_calls_of_blocking_agents_that_are_stuck() -> None:
    stuck = ["Planner.on_tick of session 's', for 9.0 s in on_tick (planner.py:3)"]
    shown = read(await admin(stuck=stuck).show(get("/healthz")))
    assert (shown["healthy"], shown["stuck"]) == (True, stuck)


@pytest.mark.parametrize(("path", "claim"), [("/healthz", "healthy"), ("/readyz", "ready")])
async def test_what_is_not_so_is_503(path: str, claim: str) -> None:
    assert (await admin(**{claim: False}).show(get(path))).status == 503
    assert (await admin().show(get(path))).status == 200


async def test_status_shows_one_replica() -> None:
    shown = read(await admin("one", "a", "b").show(get("/status")))
    assert (shown["replica"], shown["sessions"], shown["purposes"]) == ("one", 2, {"train": 2})


async def test_a_session_is_found_by_its_id_whatever_is_in_it() -> None:
    odd = "a b/ü?x-agent-boss"
    shown = read(await admin("one", odd).show(get("/sessions/a%20b%2F%C3%BC%3Fx-agent-boss")))
    assert (shown["id"], shown["game"], shown["agent"], shown["seq"]) == (odd, "a b/ü?x", "boss", 3)


async def test_a_session_that_is_not_open_is_404() -> None:
    with pytest.raises(SessionUnknownError, match="no replica holds session 'x'") as caught:
        await admin().show(get("/sessions/x"))
    assert caught.value.status == 404


async def test_there_is_nothing_at_other_paths() -> None:
    reply = await admin().show(get("/nowhere"))
    assert reply.status == 404
    assert b"GET/HEAD /metrics" in reply.body


async def test_every_get_of_the_document_is_served_and_answers_as_it_says(tmp_path: Path) -> None:
    await write_games(tmp_path / "recordings" / "player.parquet", [3])
    one = admin("one", "a", folder=tmp_path)
    schemas = openapi()["components"]["schemas"]
    gets = [operation for operation in OPERATIONS if operation.method == "get"]
    assert {get.path for get in gets} == {path for path, methods in ROUTES.items() if "HEAD" in methods}
    for operation in gets:
        reply = await one.show(get(filled(operation.path), name="sparring_starts_total"))
        assert reply.status == 200
        assert reply.content_type.decode().startswith(operation.media)
        if operation.media == "application/json":
            schema = {**operation.answer, "components": {"schemas": schemas}}
            jsonschema.validate(orjson.loads(reply.body), schema, jsonschema.Draft202012Validator)


async def test_with_keys_only_health_and_the_document_are_open(tmp_path: Path) -> None:
    await write_games(tmp_path / "recordings" / "player.parquet", [3])

    def may_see(credentials: Credentials | None) -> bool:
        return credentials is not None and credentials.key == "operator"

    guarded = admin("one", "a", may_see=may_see, folder=tmp_path)
    for operation in (o for o in OPERATIONS if o.method == "get"):
        path = filled(operation.path)
        assert (await guarded.show(get(path, key="operator", name="sparring_starts_total"))).status == 200
        if operation.guarded:
            with pytest.raises(UnauthorizedError):
                await guarded.show(get(path))
            with pytest.raises(UnauthorizedError):
                await guarded.show(get(path, key="player"))
        else:
            assert (await guarded.show(get(path))).status == 200
        assert (await guarded.show_peer(get(path, name="sparring_starts_total"))).status == 200


def test_serves_port_sends_on_to_the_nodes_own() -> None:
    one = admin()
    found = {
        path: one.elsewhere(get(path, limit="5"))
        for path in (
            "/metrics",
            "/node",
            "/weights",
            "/weights/main/latest",
            "/console",
            "/console/app.js",
            "/ring",
        )
    }
    locations = {path: dict(reply.headers)[b"Location"].decode() for path, reply in found.items() if reply is not None}
    assert {reply.status for reply in found.values() if reply is not None} == {307}
    assert locations == {
        "/metrics": "http://10.0.0.1:36390/metrics",
        "/node": "http://10.0.0.1:36390/node",
        "/weights": "http://10.0.0.1:36390/weights",
        "/weights/main/latest": "http://10.0.0.1:36390/weights/main/latest",
        "/console": "http://10.0.0.1:36390/console",
        "/console/app.js": "http://10.0.0.1:36390/console/app.js",
        "/ring": "http://10.0.0.1:36390/ring",
    }
    assert one.elsewhere(get("/healthz")) is None
    for here in ("/status", "/replicas", "/sessions", "/sessions/a%20b"):
        assert one.elsewhere(get(here)) is None


async def test_the_next_games_of_an_agent_are_recorded() -> None:
    asked = get("/recordings", b"POST", agent="player", games="3")
    assert read(await admin().show(asked)) == {"agent": "player", "games": 3}
    with pytest.raises(BadRequestError, match="agent is boss"):
        await admin().show(get("/recordings", b"POST", agent="boss", games="3"))


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"agent": "player"},
        {"session": "a", "games": "1"},
        {"agent": "p", "games": "x"},
        {"agent": "player", "games": "0000000012" + "9" * 5000},
    ],
)
async def test_a_recording_is_of_a_session_or_of_games(fields: dict[str, str]) -> None:
    with pytest.raises(BadRequestError, match="allowed is session=ID, or agent=NAME with games=N"):
        await admin().show(get("/recordings", b"POST", **fields))


async def test_only_who_may_see_may_let_games_be_recorded_and_by_post_alone() -> None:
    with pytest.raises(UnauthorizedError):
        await admin("one", "a", may_see=lambda _: False).show(get("/recordings", b"POST", session="a"))
    shown = read(await admin("one", "a").show(get("/recordings", session="a")))
    assert shown == {"recordings": [], "folders": ["recordings"]}
