import orjson
import pytest

from app.wire.http import HttpReply, HttpRequest
from app.wire.routes import ROUTES, unserved


def ask(method: bytes, path: str) -> HttpReply:
    return unserved(HttpRequest(method, path, {}, b"", True))


def header(reply: HttpReply, name: bytes) -> bytes | None:
    return dict(reply.headers).get(name)


@pytest.mark.parametrize("path", ROUTES)
def test_options_tells_what_is_allowed(path: str) -> None:
    reply = ask(b"OPTIONS", path)
    assert (reply.status, reply.body) == (204, b"")
    assert header(reply, b"Allow") == ", ".join((*ROUTES[path], "OPTIONS")).encode()


def test_options_of_everything_tells_all_methods() -> None:
    assert header(ask(b"OPTIONS", "*"), b"Allow") == b"POST, GET, HEAD, OPTIONS"


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        (b"GET", "/step", b"POST, OPTIONS"),
        (b"HEAD", "/steps", b"POST, OPTIONS"),
        (b"DELETE", "/status", b"GET, HEAD, OPTIONS"),
    ],
)
def test_a_wrong_method_is_told_the_right_ones(method: bytes, path: str, allowed: bytes) -> None:
    reply = ask(method, path)
    assert (reply.status, header(reply, b"Allow")) == (405, allowed)
    assert orjson.loads(reply.body)["detail"].startswith(f"{method.decode()} is not allowed at {path}; allowed are")


@pytest.mark.parametrize("method", [b"GET", b"OPTIONS"])
def test_an_unknown_path_is_told_what_is_there(method: bytes) -> None:
    reply = ask(method, "/metrics/x")
    assert reply.status == 404
    assert "POST /step, POST /steps, GET/HEAD /healthz" in orjson.loads(reply.body)["detail"]


def test_a_websocket_path_asks_for_the_upgrade() -> None:
    reply = ask(b"GET", "/ws")
    assert (reply.status, header(reply, b"Upgrade")) == (426, b"websocket")
