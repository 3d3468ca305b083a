"""Steps between replicas, over real peer ports."""

import asyncio
import socket
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import pytest

from app.client.kept import ConnectionLostError
from app.errors import AgentError, BadPayloadError, GameElsewhereError, OverloadedError, StepError
from app.sessions.directory import Replica
from app.types import StepKind
from app.wire.detect import Speech
from app.wire.http import HttpReply, HttpRequest
from app.wire.steps import StepReply, StepRequest
from deployments import framed_link
from deployments import links as links_module
from deployments.links import Links, ReplicaGoneError, ReplicaSilentError
from deployments.listener.detecting import DetectingConnection
from deployments.listener.http import HttpConnection
from deployments.listener.peer import PeerConnection
from deployments.listener.port import Connections, HttpOnly
from tests.deployments.echo_service import EchoService
from tests.deployments.wire_client import eventually

HOST = "127.0.0.1"
SECRET = "the cluster's"  # noqa: S105
LONG_S = 10.0


class Owner(EchoService):
    """A replica that holds all games but those whose session begins with ``moved``."""

    def __init__(self) -> None:
        super().__init__()
        self.gateways: list[bool] = []
        self.counts: Counter[str] = Counter()
        self.port: Connections

    async def step_of_peer(self, request: StepRequest, via_gateway: bool) -> StepReply:
        self.gateways.append(via_gateway)
        if request.session.startswith("moved"):
            raise GameElsewhereError(request.session, "replica#3")
        return await self.step(request)

    async def show(self, request: HttpRequest) -> HttpReply:
        return HttpReply(200, request.path.encode() + request.body)

    def cut(self) -> None:
        for connection in list(self.port.open):
            connection.close()


@asynccontextmanager
async def running(owner: Owner) -> AsyncIterator[Replica]:
    """Runs the peer port of a replica."""
    owner.port = port = Connections(HttpOnly(owner.show), 2**20, counts=owner.counts)
    speakers = {Speech.HTTP: HttpConnection, Speech.NATIVE: partial(PeerConnection, SECRET, owner.step_of_peer)}
    server = await asyncio.get_running_loop().create_server(lambda: DetectingConnection(port, speakers), HOST, 0)
    try:
        yield Replica("owner", HOST, server.sockets[0].getsockname()[1])
    finally:
        server.close()
        await port.finish(1.0)


@asynccontextmanager
async def linked(secret: str = SECRET) -> AsyncIterator[Links]:
    links = Links(secret)
    try:
        yield links
    finally:
        await links.close()


def tick(session: str, body: bytes = b"") -> StepRequest:
    return StepRequest(session, StepKind.TICK, body, seq=1)


async def test_replies_come_as_they_are_ready_over_one_connection() -> None:
    owner = Owner()
    async with running(owner) as replica, linked() as links:
        names = [f"wait{number}" for number in range(50)]
        asked = [asyncio.create_task(links.step(replica, tick(name, name.encode()), LONG_S)) for name in names]
        await owner.until(50)
        for task, name in reversed(list(zip(asked, names, strict=True))):
            owner.doors[name].set()
            assert (await task).body == name.encode()
        assert (await links.step(replica, tick("quick", b"x"), LONG_S)).body == b"x"
        assert owner.counts["connections_native"] == 1


async def test_the_mark_of_a_gateway_travels() -> None:
    owner = Owner()
    async with running(owner) as replica, linked() as links:
        await links.step(replica, tick("a"), LONG_S, via_gateway=True)
        await links.step(replica, tick("a"), LONG_S)
    assert owner.gateways == [True, False]


@pytest.mark.parametrize(
    ("session", "kind"), [("bad", BadPayloadError), ("full", OverloadedError), ("bug", AgentError)]
)
async def test_errors_are_those_of_the_owner_and_the_link_goes_on(session: str, kind: type[StepError]) -> None:
    async with running(Owner()) as replica, linked() as links:
        with pytest.raises(kind) as caught:
            await links.step(replica, tick(session), LONG_S)
        assert caught.value.retry_after_s == kind.retry_after_s
        assert (await links.step(replica, tick("good", b"x"), LONG_S)).body == b"x"


async def test_a_game_that_was_handed_on_is_followed() -> None:
    async with running(Owner()) as replica, linked() as links:
        with pytest.raises(GameElsewhereError) as caught:
            await links.step(replica, tick("moved"), LONG_S)
        assert caught.value.owner == "replica#3"


async def test_a_large_step_comes_whole() -> None:
    body = bytes(range(256)) * 4096 * 4
    async with running(Owner()) as replica, linked() as links:
        replies = await asyncio.gather(*(links.step(replica, tick(f"s{n}", body), LONG_S) for n in range(4)))
    assert all(reply.body == body for reply in replies)


async def test_the_reply_to_a_cancelled_caller_is_dropped() -> None:
    owner = Owner()
    async with running(owner) as replica, linked() as links:
        given_up = asyncio.create_task(links.step(replica, tick("wait"), LONG_S))
        await owner.until(1)
        given_up.cancel()
        with pytest.raises(asyncio.CancelledError):
            await given_up
        owner.doors["wait"].set()
        assert (await links.step(replica, tick("next", b"x"), LONG_S)).body == b"x"
        assert owner.counts["connections_native"] == 1


async def test_a_lost_connection_fails_all_that_wait_and_the_next_step_opens_another() -> None:
    owner = Owner()
    async with running(owner) as replica, linked() as links:
        asked = [asyncio.create_task(links.step(replica, tick(f"wait{number}"), LONG_S)) for number in range(5)]
        await owner.until(5)
        owner.cut()
        for error in await asyncio.gather(*asked, return_exceptions=True):
            assert isinstance(error, ConnectionLostError)
            assert error.sent
        for door in owner.doors.values():
            door.set()
        assert (await links.step(replica, tick("next", b"x"), LONG_S)).body == b"x"


async def test_who_does_not_know_the_secret_is_cut_off() -> None:
    owner = Owner()
    async with running(owner) as replica, linked(SECRET[1:]) as links:
        with pytest.raises(ConnectionLostError):
            await links.step(replica, tick("a"), LONG_S)
    assert owner.names == []
    assert owner.counts["peers_refused"] == 1


async def test_a_protocol_of_clients_is_not_spoken() -> None:
    owner = Owner()
    async with running(owner) as replica:
        reader, writer = await asyncio.open_connection(HOST, replica.peer_port)
        writer.write(bytes(16))
        async with asyncio.timeout(LONG_S):
            assert await reader.read() == b""
        writer.close()
    assert owner.names == []


async def test_nobody_where_the_replica_listened_means_that_it_is_gone() -> None:
    with socket.create_server((HOST, 0)) as listening:
        gone = Replica("gone", HOST, listening.getsockname()[1])
    async with linked() as links:
        for error in await asyncio.gather(
            *(links.step(gone, tick("a"), LONG_S) for _ in range(3)), return_exceptions=True
        ):
            assert isinstance(error, ReplicaGoneError)
        with pytest.raises(ReplicaGoneError):
            await links.post(gone, "/adopt", {}, b"", LONG_S)


async def test_a_replica_that_ends_with_steps_under_way_is_gone() -> None:
    owner = Owner()
    async with linked() as links:
        async with running(owner) as replica:
            asked = asyncio.create_task(links.step(replica, tick("wait"), LONG_S))
            await owner.until(1)
        with pytest.raises(ReplicaGoneError):
            await asked


async def test_a_late_reply_holds_up_no_other() -> None:
    owner = Owner()
    async with running(owner) as replica, linked() as links:
        late = asyncio.create_task(links.step(replica, tick("wait"), 0.3))
        await owner.until(1)
        while not late.done():
            assert (await links.step(replica, tick("quick", b"x"), LONG_S)).body == b"x"
        with pytest.raises(ConnectionLostError, match=r"no reply within 0\.3 s") as caught:
            await late
        assert caught.value.sent
        assert owner.counts["connections_native"] == 1


async def test_a_silent_replica_is_given_up_with_all_that_waits() -> None:
    async with linked() as links:
        with socket.create_server((HOST, 0)) as listening:
            mute = Replica("mute", HOST, listening.getsockname()[1])
            link = await links._link(mute)
            first, second = link.send(tick("a"), 0.2), link.send(tick("b"), LONG_S)
            for waiter in (first, second):
                with pytest.raises(ConnectionLostError) as caught:
                    await asyncio.wait_for(waiter, LONG_S)
                assert caught.value.sent
            assert not link.usable


async def test_what_is_under_way_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(framed_link, "MAX_IN_FLIGHT", 2)
    owner = Owner()
    async with running(owner) as replica, linked() as links:
        asked = [asyncio.create_task(links.step(replica, tick(f"wait{number}"), LONG_S)) for number in range(2)]
        await owner.until(2)
        with pytest.raises(OverloadedError, match="2 steps wait"):
            await links.step(replica, tick("more"), LONG_S)
        for door in owner.doors.values():
            door.set()
        await asyncio.gather(*asked)
        assert (await links.step(replica, tick("more", b"x"), LONG_S)).body == b"x"


async def test_other_requests_come_by_http_on_the_same_port() -> None:
    async with running(Owner()) as replica, linked() as links:
        assert (await links.step(replica, tick("a", b"x"), LONG_S)).body == b"x"
        assert (await links.post(replica, "/adopt", {}, b" a game", LONG_S)).body == b"/adopt a game"


async def test_links_close_at_once_with_steps_under_way() -> None:
    owner = Owner()
    async with running(owner) as replica, linked() as links:
        asked = asyncio.create_task(links.step(replica, tick("wait"), LONG_S))
        await owner.until(1)
        begun = time.monotonic()
        await links.close()
        assert time.monotonic() - begun < LONG_S / 2
        with pytest.raises(ConnectionLostError, match="closed by this side"):
            await asked
        await eventually(lambda: not owner.port.open or all(not c.ending for c in owner.port.open))
        owner.doors["wait"].set()


@asynccontextmanager
async def deaf() -> AsyncIterator[Replica]:
    """Runs a machine that answers no connection: its queue is full, and nobody takes from it."""
    with socket.socket() as listening:
        listening.bind((HOST, 0))
        listening.listen(0)
        address = listening.getsockname()
        waiting = [socket.socket() for _ in range(4)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(address)
        try:
            yield Replica("deaf", HOST, address[1])
        finally:
            for one in waiting:
                one.close()


async def test_a_machine_that_does_not_answer_is_told_from_a_process_that_is_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(links_module, "CONNECT_TIMEOUT_S", 0.1)
    async with deaf() as replica, linked() as links:
        with pytest.raises(ReplicaSilentError) as caught:
            await links.step(replica, tick("a"), LONG_S)
        assert not caught.value.sent
        with pytest.raises(ReplicaSilentError):
            await links.post(replica, "/adopt", {}, b"", LONG_S)


async def test_links_end_where_the_other_machine_acknowledges_nothing() -> None:
    async with running(Owner()) as replica, linked() as links:
        await links.step(replica, tick("a"), LONG_S)
        (link,) = links._links.values()
        assert link._transport is not None
        connected = link._transport.get_extra_info("socket")
        assert connected.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == links_module.UNHEARD_MS
