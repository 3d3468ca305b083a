"""Replicas that answer for each other, over real peer ports."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace

import pytest

from app.errors import BadRequestError, SessionUnknownError, StepError
from app.sessions.directory import Replica
from app.wire.http import HttpReply, HttpRequest
from deployments.links import SECRET_HEADER
from deployments.listener.detecting import DetectingConnection
from deployments.listener.port import Connections, HttpOnly
from deployments.others import AT_ONCE, Others
from tests.metrics.test_prometheus import parsed

from .test_admin import HOST, admin, get, read

SECRET = "the cluster's"  # noqa: S105  # Of these tests.


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Takes no peer that answers for silent, however slow the machine is."""
    monkeypatch.setattr("deployments.others.ASK_TIMEOUT_S", 30.0)


def peer(name: str, *sessions: str) -> AbstractAsyncContextManager[Replica]:
    """Runs another replica's peer port."""
    theirs = admin(name, *sessions)

    async def answer(request: HttpRequest) -> HttpReply:
        if request.fields.get(SECRET_HEADER) != SECRET:
            raise BadRequestError("the peer port serves the replicas of this service alone")
        return await theirs.show_peer(request)

    return serving(name, answer)


@asynccontextmanager
async def serving(name: str, answer: Callable[[HttpRequest], Awaitable[HttpReply]]) -> AsyncIterator[Replica]:
    """Runs a peer port that answers in this way."""
    connections = Connections(HttpOnly(answer), 1_000)
    server = await asyncio.get_running_loop().create_server(
        lambda: DetectingConnection(connections), HOST, 0, backlog=1_000
    )
    try:
        yield Replica(name, HOST, server.sockets[0].getsockname()[1])
    finally:
        server.close()
        await connections.finish(1.0)


@asynccontextmanager
async def mute(name: str) -> AsyncIterator[Replica]:
    """Runs a peer port behind which nobody ever answers."""
    with socket.create_server((HOST, 0)) as listening:
        yield Replica(name, HOST, listening.getsockname()[1])


def node(*replicas: Replica, secret: str = SECRET) -> Others:
    own = Replica("one", HOST, 1)
    return Others(lambda: [own, *replicas], own, secret)


async def test_one_replica_answers_for_its_node_and_names_the_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deployments.others.ASK_TIMEOUT_S", 1.0)  # It is waited for in full, twice.
    async with peer("two", "b", "d") as two, mute("three") as three:
        gone = Replica("four", HOST, 1)
        elsewhere = Replica("five", "10.9.9.9", two.peer_port)
        one = admin("one", "a", "c", "e", peers=node(two, three, gone, elsewhere))
        metrics = parsed((await one.show(get("/metrics"))).body)
        assert sum(metrics["sparring_starts_total"].values()) == 5
        up = {dict(labels)["replica"]: value for labels, value in metrics["sparring_replica_up"].items()}
        assert up == {"one": 1, "two": 1, "three": 0, "four": 0}
        assert metrics["sparring_node_replicas_silent"] == {(): 2}
        assert read(await one.show(get("/node")))["silent"] == ["three", "four"]


async def test_the_pages_hold_the_sessions_of_all_replicas() -> None:
    async with peer("two", "b", "d") as two:
        one = admin("one", "a", "c", "e", peers=node(two))
        first = read(await one.show(get("/sessions", limit="3")))
        assert [(s["id"], s["replica"]) for s in first["sessions"]] == [("a", "one"), ("b", "two"), ("c", "one")]
        last = read(await one.show(get("/sessions", limit="3", after=first["next"])))
        assert [s["id"] for s in last["sessions"]] == ["d", "e"]
        assert last["next"] is None


async def test_a_session_is_found_in_another_replica() -> None:
    async with peer("two", "far/away") as two:
        shown = read(await admin("one", peers=node(two)).show(get("/sessions/far%2Faway")))
        assert (shown["id"], shown["replica"]) == ("far/away", "two")


async def test_of_all_nodes_are_replicas_and_sessions_of_one_are_metrics() -> None:
    own = Replica("one", "10.0.0.1", 1)
    async with peer("two", "b") as two:
        one = admin("one", "a", peers=Others(lambda: [own, two], own, SECRET))
        assert [r["replica"] for r in read(await one.show(get("/node")))["replicas"]] == ["one"]
        everywhere = read(await one.show(get("/replicas")))
        assert [r["replica"] for r in everywhere["replicas"]] == ["one", "two"]
        assert (everywhere["sessions"], everywhere["series"]) == (2, [])
        assert [s["id"] for s in read(await one.show(get("/sessions")))["sessions"]] == ["a", "b"]
        assert read(await one.show(get("/sessions/b")))["replica"] == "two"
        assert read(await one.show(get("/recordings", b"POST", session="b"))) == {"session": "b"}


async def test_a_peer_that_does_not_know_the_secret_is_silent() -> None:
    async with peer("two", "b") as two:
        one = admin("one", "a", peers=node(two, secret=SECRET[1:]))
        for path in ("/sessions", "/node", "/replicas"):
            assert read(await one.show(get(path)))["silent"] == ["two"]
        with pytest.raises(SessionUnknownError, match="silent are two"):
            await one.show(get("/sessions/b"))


@pytest.mark.parametrize(
    "reply",
    [
        HttpReply(404, b"{}"),
        HttpReply(200, b"[]"),
        HttpReply(200, b"no JSON"),
        HttpReply(200, b'{"replicas": [{"name": "of another version"}], "sessions": [7]}'),
    ],
)
async def test_a_peer_of_another_version_is_silent_and_harms_no_answer(reply: HttpReply) -> None:
    async def answer(_request: HttpRequest) -> HttpReply:
        return reply

    async with serving("two", answer) as two:
        one = admin("one", "a", peers=node(two))
        replicas, sessions = [read(await one.show(get(path))) for path in ("/replicas", "/sessions")]
        assert [r["replica"] for r in replicas["replicas"]] == ["one"]
        assert [s["id"] for s in sessions["sessions"]] == ["a"]
        assert replicas["silent"] == sessions["silent"] == ["two"]


async def test_a_replica_that_is_listed_twice_or_is_the_own_one_is_asked_once() -> None:
    async with peer("two", "b") as two:
        one = admin("one", "a", peers=node(two, two, Replica("one", HOST, two.peer_port)))
        assert [s["id"] for s in read(await one.show(get("/sessions")))["sessions"]] == ["a", "b"]
        assert [r["replica"] for r in read(await one.show(get("/replicas")))["replicas"]] == ["one", "two"]


async def test_a_gateway_that_answers_no_peer_is_not_silent() -> None:
    async with peer("two", "b") as two:
        one = admin("one", "a", peers=node(two, Replica("door", "", 0)))
        for path in ("/sessions", "/node", "/replicas"):
            assert read(await one.show(get(path)))["silent"] == []


async def test_sessions_of_a_game_without_a_name_are_asked_for_everywhere() -> None:
    async with peer("two", "b") as two:
        assert read(await admin("one", "a", peers=node(two)).show(get("/sessions", game="")))["sessions"] == []


async def test_of_more_replicas_than_are_asked_at_a_time_all_answer() -> None:
    async with peer("two", "b") as two:
        many = [replace(two, name=f"r{number}") for number in range(2 * AT_ONCE + 1)]
        shown = read(await admin("one", peers=node(*many)).show(get("/replicas")))
        assert (len(shown["replicas"]), shown["silent"]) == (1 + len(many), [])


async def test_a_page_that_cannot_be_is_refused_before_anyone_is_asked() -> None:
    with pytest.raises(StepError, match="limit is '0'"):
        await admin(peers=node(Replica("two", HOST, 1))).show(get("/sessions", limit="0"))


async def test_a_session_is_recorded_wherever_it_is_open() -> None:
    async with peer("two", "b") as two:
        one = admin("one", "a", peers=node(two))
        for session in ("a", "b"):
            assert read(await one.show(get("/recordings", b"POST", session=session))) == {"session": session}
        with pytest.raises(SessionUnknownError, match=r"c is not open$"):
            await one.show(get("/recordings", b"POST", session="c"))


async def test_who_did_not_say_whether_it_plays_a_session_that_is_to_be_recorded_is_named() -> None:
    async with peer("two", "b") as two:
        one = admin("one", "a", peers=node(two, Replica("gone", HOST, 1)))
        with pytest.raises(SessionUnknownError, match=r"c is not open; silent are gone$"):
            await one.show(get("/recordings", b"POST", session="c"))
