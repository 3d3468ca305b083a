import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.client import ClientProtocol
from websockets.frames import CloseCode, Frame, Opcode
from websockets.protocol import OPEN
from websockets.uri import parse_uri

from app.errors import BadPayloadError, BadRequestError, StepError, UnauthorizedError
from app.wire.http import HttpRequest
from app.wire.websocket import WebSocket, handshake

from .pieces import cut_anywhere, one_by_one

LIMIT = 1000


def client() -> ClientProtocol:
    """Returns the client's side of a connection behind its handshake."""
    return ClientProtocol(parse_uri("ws://x/ws"), state=OPEN)


def sent(*messages: bytes) -> bytes:
    """Returns the bytes of a client's messages."""
    side = client()
    for message in messages:
        side.send_binary(message)
    return b"".join(side.data_to_send())


def read(*pieces: bytes) -> tuple[list[bytes], WebSocket]:
    socket = WebSocket(LIMIT)
    return [message for piece in pieces for message in socket.feed(piece)], socket


def heard(socket: WebSocket) -> tuple[list[Frame], ClientProtocol]:
    """Returns what a client hears."""
    side = client()
    for piece in socket.to_send():
        if piece:
            side.receive_data(piece)
    return [event for event in side.events_received() if isinstance(event, Frame)], side


HANDSHAKE = {
    "connection": "keep-alive, Upgrade",
    "upgrade": "websocket",
    "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
    "sec-websocket-version": "13",
}


def test_a_handshake_is_answered_as_the_standard_says() -> None:
    reply, accepted = handshake(HttpRequest(b"GET", "/ws", HANDSHAKE, b"", True))
    assert accepted
    assert reply.startswith(b"HTTP/1.1 101 ")
    assert b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n" in reply  # The example of RFC 6455.


@pytest.mark.parametrize(
    ("origin", "allowed"),
    [
        ("https://play.example", True),
        ("http://localhost:8080", True),
        ("http://play.example", False),
        ("https://play.example:8443", False),
        ("https://play.example.evil", False),
        ("null", False),
        ("", False),
    ],
)
def test_only_pages_of_the_allowed_origins_open_a_websocket(origin: str, allowed: bool) -> None:
    request = HttpRequest(b"GET", "/ws", HANDSHAKE | {"origin": origin}, b"", True)
    assert handshake(request)[1]  # None named: any may.
    origins = ("https://play.example", "http://localhost:8080")
    if allowed:
        assert handshake(request, origins)[1]
        return
    with pytest.raises(UnauthorizedError, match=r"allowed: https://play\.example, http://localhost:8080"):
        handshake(request, origins)


def test_who_is_no_browser_and_sends_no_origin_is_not_asked_for_one() -> None:
    request = HttpRequest(b"GET", "/ws", HANDSHAKE, b"", True)
    assert handshake(request, ())[1]


@pytest.mark.parametrize(
    ("field", "value"), [("sec-websocket-version", "8"), ("sec-websocket-key", "short"), ("connection", "close")]
)
def test_a_bad_handshake_is_refused(field: str, value: str) -> None:
    reply, accepted = handshake(HttpRequest(b"GET", "/ws", HANDSHAKE | {field: value}, b"", True))
    assert not accepted
    assert reply.startswith(b"HTTP/1.1 4")


def test_a_field_that_no_header_may_hold_is_refused() -> None:
    with pytest.raises(BadRequestError, match="sec-websocket-key"):
        handshake(HttpRequest(b"GET", "/ws", HANDSHAKE | {"sec-websocket-key": "dGh\u07dc"}, b"", True))


def test_messages_may_come_byte_by_byte_and_many_in_one_piece() -> None:
    messages = [b"a", b"b" * 200, b"", b"c" * 1000]
    assert read(sent(*messages))[0] == messages
    assert read(*one_by_one(sent(*messages)))[0] == messages


@given(st.lists(st.binary(max_size=50), max_size=5), st.data())
def test_messages_are_the_same_however_the_bytes_are_cut(messages: list[bytes], data: st.DataObject) -> None:
    got, socket = read(*cut_anywhere(data, sent(*messages)))
    assert got == messages
    assert socket.failure is None


def test_a_message_may_come_in_fragments_with_a_ping_between() -> None:
    side = client()
    side.send_binary(b"one ", fin=False)
    side.send_ping(b"?")
    side.send_continuation(b"two ", fin=False)
    side.send_continuation(b"three", fin=True)
    side.send_binary(b"next")
    messages, socket = read(*side.data_to_send())
    assert messages == [b"one two three", b"next"]
    assert [(frame.opcode, bytes(frame.data)) for frame in heard(socket)[0]] == [(Opcode.PONG, b"?")]


def test_a_message_over_the_limit_is_refused_before_it_comes() -> None:
    messages, socket = read(sent(b"good") + sent(bytes(LIMIT + 1))[:10])
    assert messages == [b"good"]
    assert isinstance(socket.failure, BadRequestError)
    heard_, side = heard(socket)
    assert heard_
    assert side.close_rcvd is not None
    assert side.close_rcvd.code == CloseCode.MESSAGE_TOO_BIG


def test_small_fragments_cost_no_more_memory_than_their_bytes() -> None:
    socket, side = WebSocket(1_000_000), client()
    side.send_binary(b"", fin=False)
    socket.feed(b"".join(side.data_to_send()))
    side.send_continuation(b"x", fin=False)
    piece = b"".join(side.data_to_send())
    tracemalloc.start()
    for _ in range(1000):
        socket.feed(piece * 20)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 200_000  # 20,000 bytes of message.


def test_text_is_refused_and_told_so() -> None:
    side = client()
    side.send_text(b"hello")
    messages, socket = read(*side.data_to_send())
    assert messages == []
    assert "a text frame came" in str(socket.failure)
    socket.close()
    assert heard(socket)[1].close_rcvd is not None


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        (None, CloseCode.GOING_AWAY),
        (BadRequestError("x" * 500), CloseCode.UNSUPPORTED_DATA),
        (BadPayloadError("é" * 100), CloseCode.INVALID_DATA),
    ],
)
def test_a_goodbye_says_why(failure: StepError | None, code: CloseCode) -> None:
    socket = WebSocket(LIMIT)
    socket.failure = failure
    socket.close()
    socket.close()
    socket.send(b"too late")
    socket.ping()
    frames, side = heard(socket)
    assert [frame.opcode for frame in frames] == [Opcode.CLOSE]
    assert side.close_rcvd is not None
    assert side.close_rcvd.code == code


def test_a_peers_goodbye_is_answered_and_ends_the_messages() -> None:
    side = client()
    side.send_binary(b"last")
    side.send_close(1000)
    messages, socket = read(*side.data_to_send())
    assert messages == [b"last"]
    assert not socket.open
    assert socket.to_send()[-1] == b""


def test_a_socket_tells_whether_it_waits_for_the_rest() -> None:
    socket = WebSocket(LIMIT)
    stream = sent(b"hello")
    seen = []
    for piece in (stream[:1], stream[1:7], stream[7:]):
        socket.feed(piece)
        seen.append(socket.partial)
    assert seen == [True, True, False]


@given(st.lists(st.binary(max_size=40) | st.binary(max_size=20).map(sent), max_size=12))
def test_no_bytes_at_all_make_it_raise(pieces: list[bytes]) -> None:
    messages, socket = read(*pieces)
    assert all(isinstance(message, bytes) for message in messages)
    assert socket.failure is None or isinstance(socket.failure, StepError)
