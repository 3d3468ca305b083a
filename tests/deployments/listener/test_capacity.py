"""Requests that fail use no capacity up: ten times the limit of them, and the next good one is answered."""

from collections import Counter

from app.wire import messages_pb2 as pb
from deployments.listener.requests import MAX_UNDER_WAY
from tests.deployments.echo_service import EchoService
from tests.deployments.wire_client import ends, eventually, listening, post
from tests.deployments.wire_frames import bray, bray_reply, native, native_reply, step

FAILING = 10 * MAX_UNDER_WAY
MAX_CONNECTIONS = 4


async def test_an_http_connection_answers_behind_any_number_of_failures() -> None:
    async with listening(EchoService()) as listener, listener.client() as client:
        for number in range(0, FAILING, MAX_UNDER_WAY):
            client.send(*(post("/bad" if at % 2 else "/bug") for at in range(MAX_UNDER_WAY)))
            statuses = {(await client.reply()).status for _ in range(MAX_UNDER_WAY)}
            assert statuses == {422, 500}, number
        client.send(post("/good"))
        assert (await client.reply()).status == 200


async def test_a_native_connection_answers_behind_any_number_of_failures() -> None:
    async with listening(EchoService()) as listener, listener.client() as client:
        client.send(*(native(step(at, "bad" if at % 2 else "bug")) for at in range(1, FAILING + 1)))
        replies = [await native_reply(client) for _ in range(FAILING)]
        codes = Counter(reply.answer.error.code or reply.error.code for reply in replies)
        assert codes == {"bad_payload": FAILING // 2, "agent_error": FAILING // 2}
        client.send(native(pb.Request(step=pb.Step(session="good", body=b"x"), request_id=1)))
        assert (await native_reply(client)).answer.body == b"x"


async def test_connections_that_an_error_ended_make_room_for_others() -> None:
    async with listening(EchoService(), max_connections=MAX_CONNECTIONS) as listener:
        for number in range(10 * MAX_CONNECTIONS):
            async with listener.client() as client:
                client.send(bray("bad" if number % 2 else "bug", "tick"))
                assert await ends(client)
            await eventually(lambda: not listener.connections.open)
        async with listener.client() as client:
            client.send(bray("good", "tick", b"x"))
            assert await bray_reply(client) == ("good", b"x", 0)
        assert listener.connections.counts["connections_refused"] == 0
