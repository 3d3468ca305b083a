"""A service on a real socket that keeps to the wire contract, plays by a script and fails on demand."""

import asyncio
from base64 import b64decode, b64encode
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import httptools
import orjson

from app.wire.compression import deflate, inflate
from app.wire.merge_patch import merge_patch
from app.wire.token import sign

WAIT_S = 30.0
STATUSES = {
    "session_unknown": 404,
    "seq_gap": 409,
    "session_lost": 410,
    "bad_payload": 422,
    "overloaded": 429,
    "agent_error": 500,
    "draining": 503,
    "deadline_exceeded": 504,
}


@dataclass
class FakeSession:
    """What one session was sent; repeated steps are answered again, not noted again."""

    session: str
    purpose: str
    connections: set[int] = field(default_factory=set)
    steps: list[tuple[str, int, Any]] = field(default_factory=list)
    replies: dict[int, Any] = field(default_factory=dict)
    state: Any = None
    """What the next difference is to."""

    def bodies(self, kind: str) -> list[Any]:
        return [body for step_kind, _, body in self.steps if step_kind == kind]

    @property
    def stopped(self) -> bool:
        return self.steps[-1][0] == "stop"


class FakeService:
    """Answers ``/step``, ``/steps`` and ``/readyz``."""

    def __init__(self, agent: Callable[[FakeSession], Any]) -> None:
        self.agent = agent
        self.sessions: dict[str, FakeSession] = {}
        self.lost: list[FakeSession] = []
        self.refusals: deque[tuple[int, str]] = deque()
        """Status and code of the next POSTs."""
        self.item_refusals: deque[str] = deque()
        """Codes of the next items of ``/steps``."""
        self.not_ready = 0
        """So many polls are answered 503."""
        self.drop_after: set[int] = set()
        """Numbers of POSTs after which, processed but unanswered, the connection is reset."""
        self.drop_before: set[int] = set()
        """The same, but not processed."""
        self.close_after: set[int] = set()
        """Numbers of POSTs answered with ``Connection: close``."""
        self.lose: Callable[[FakeSession], bool] = lambda _: False
        """Before a step: forget the session?"""
        self.silent = False
        """Leave steps, though processed, unanswered?"""
        self.version = "0.0"
        self.endpoint = ""
        """Named in the replies to starts."""
        self.resumed: dict[str, int] = {}
        """Sessions whose next answer goes on from a snapshot of that step, and has forgotten the state."""
        self.step_refusals: dict[tuple[str, int], list[str]] = {}
        """Codes that a session's step of that number gets, one after another, before it is played."""
        self.room = 1_000
        """Sessions that may be open at once; the start of a further one is overloaded."""
        self.secret = ""
        """Of the key ``team``; empty asks for none."""
        self.heads: list[dict[str, str]] = []
        """Headers of each POST."""
        self.posts = self.polls = self.repeats = 0
        self.ticks = 0
        self.paths: set[str] = set()
        self.url = ""
        self.links: list[_Link] = []
        self._watchers: list[tuple[Callable[[], bool], asyncio.Future[None]]] = []

    async def until(self, claim: Callable[[], bool]) -> None:
        """Returns when the claim holds after a request."""
        if not claim():
            seen = asyncio.get_running_loop().create_future()
            self._watchers.append((claim, seen))
            await asyncio.wait_for(seen, WAIT_S)

    def answer(self, link: "_Link", method: str, path: str, headers: dict[str, str], body: bytes) -> bytes | None:
        """Returns the bytes of the reply, None to reset the connection."""
        if method == "GET":
            self.polls += 1
            return _reply(200 if self.polls > self.not_ready else 503, {})
        self.posts += 1
        number = self.posts
        self.paths.add(path)
        if number in self.drop_before:
            return None
        if self.refusals:
            status, code = self.refusals.popleft()
            return _reply(status, {"code": code, "detail": "by script"}, "Retry-After: 0\r\n")
        self.heads.append(headers)
        body = inflate(body, headers.get("content-encoding", ""), 2**20)
        status, value, more = self._serve(link, path, headers, body)
        for claim, seen in self._watchers:
            if not seen.done() and claim():
                seen.set_result(None)
        if number in self.drop_after:
            return None
        if self.silent:
            return b""
        closing = "Connection: close\r\n" if number in self.close_after else ""
        accepted = headers.get("accept-encoding", "")
        return _reply(status, value, f"policy_version: {self.version}\r\n{more}{closing}", accepted)

    def _serve(self, link: "_Link", path: str, headers: dict[str, str], body: bytes) -> tuple[int, Any, str]:
        purpose = headers.get("purpose", "")
        if self.secret and not self._knows(headers):
            return 401, {"code": "unauthorized", "detail": "by script"}, ""
        if path == "/step":
            return self._serve_step(link, purpose, headers, body)
        answers = []
        for item in orjson.loads(body):
            item["session"] = item["session"] or self._minted(item["idempotency_key"])
            code, value = self._item(link, item.get("purpose", purpose), item)
            answers.append({"session": item["session"]} | _outcome(item["kind"], code, value))
        return 200, answers, ""

    def _serve_step(self, link: "_Link", purpose: str, headers: dict[str, str], body: bytes) -> tuple[int, Any, str]:
        value: Any = body
        if headers.get("content-type", "application/json").endswith("json"):
            value = orjson.loads(body) if body else None
        kind = headers["step-kind"]
        if kind == "auto":
            return 200, {"auto": value}, ""
        session = headers.get("session") or self._minted(headers["idempotency-key"])
        delta = headers.get("delta") == "1"
        code, answer = self._step(link, purpose, session, kind, int(headers["seq"]), value, delta)
        if code is not None:
            return STATUSES[code], {"code": code, "detail": "by script"}, "Retry-After: 0\r\n"
        more = f"session: {session}\r\nseq: {headers['seq']}\r\n"
        if kind == "start" and self.endpoint:
            more += f"endpoint: {self.endpoint}\r\n"
        if (resumed_at := self.resumed.pop(session, None)) is not None:
            self.sessions[session].state = None
            more += f"resumed_at: {resumed_at}\r\n"
        return 200, answer, more

    def _minted(self, once: str) -> str:
        return f"minted-{once[:8]}"

    def _knows(self, headers: dict[str, str]) -> bool:
        key, time, session = headers.get("key", ""), headers.get("time", ""), headers.get("session", "")
        return headers.get("token") == sign(self.secret, key, time, session)

    def _item(self, link: "_Link", purpose: str, item: dict[str, Any]) -> tuple[str | None, Any]:
        if self.item_refusals:
            return self.item_refusals.popleft(), None
        body = b64decode(item["body_b64"]) if "body_b64" in item else item.get("body")
        return self._step(link, purpose, item["session"], item["kind"], item["seq"], body)

    def _step(
        self, link: "_Link", purpose: str, name: str, kind: str, seq: int, body: Any, delta: bool = False
    ) -> tuple[str | None, Any]:
        if kind == "start" and name not in self.sessions:
            if sum(not session.stopped for session in self.sessions.values()) >= self.room:
                return "overloaded", None
            self.sessions[name] = FakeSession(name, purpose)
        session = self.sessions.get(name)
        if session is not None and self.lose(session):
            self.lost.append(self.sessions.pop(name))
            session = None
        if session is None:
            return "session_unknown", None
        session.connections.add(link.number)
        if seq in session.replies:
            self.repeats += 1
            return None, session.replies[seq]
        return self._play(session, kind, seq, body, delta)

    def _play(self, session: FakeSession, kind: str, seq: int, body: Any, delta: bool) -> tuple[str | None, Any]:
        if seq != len(session.steps):
            return "seq_gap", None
        if refusals := self.step_refusals.get((session.session, seq)):
            return refusals.pop(0), None
        if delta and session.state is None:
            return "bad_payload", None
        body = merge_patch(session.state, body) if delta else body
        session.steps.append((kind, seq, body))
        if kind == "tick":
            session.state = body
            self.ticks += 1
        session.replies[seq] = self._answer(session) if kind == "tick" else {}
        session.replies.pop(seq - 8, None)
        return None, session.replies[seq]

    def _answer(self, session: FakeSession) -> Any:
        action = self.agent(session)
        return action if isinstance(action, bytes) else {"action": action}


class _Link(asyncio.Protocol):
    numbers = count()

    def __init__(self, service: FakeService) -> None:
        self.service, self.number = service, next(self.numbers)
        self.parser = httptools.HttpRequestParser(self)
        service.links.append(self)

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.parser.feed_data(data)

    def on_message_begin(self) -> None:
        self.headers: dict[str, str] = {}
        self.body = b""

    def on_url(self, url: bytes) -> None:
        self.path = url.decode()

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers[name.decode().lower().replace("_", "-")] = value.decode()

    def on_body(self, body: bytes) -> None:
        self.body += body

    def on_message_complete(self) -> None:
        method = self.parser.get_method().decode()
        reply = self.service.answer(self, method, self.path, self.headers, self.body)
        if reply is None:
            self.transport.abort()
        else:
            self.transport.write(reply)


@asynccontextmanager
async def fake_service(agent: Callable[[FakeSession], Any] = lambda _: 1, port: int = 0) -> AsyncIterator[FakeService]:
    """Runs a service on this machine while the block lasts."""
    service = FakeService(agent)
    server = await asyncio.get_running_loop().create_server(lambda: _Link(service), "127.0.0.1", port)
    service.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield service
    finally:
        server.close()
        for link in service.links:
            link.transport.abort()


def _outcome(kind: str, code: str | None, value: Any) -> dict[str, Any]:
    if code is not None:
        return {"error": {"code": code, "message": "by script"}}
    if isinstance(value, bytes):
        return {"body_b64": b64encode(value).decode()}
    return {"body_b64": ""} if kind == "start" else {"body": value}  # An agent may answer a start with bytes.


def _reply(status: int, value: Any, headers: str = "", accepted: str = "") -> bytes:
    kind = "octet-stream" if isinstance(value, bytes) else "json"
    body, encoding = deflate(value if isinstance(value, bytes) else orjson.dumps(value), accepted)
    headers += f"Content-Type: application/{kind}\r\n"
    if encoding is not None:
        headers += f"Content-Encoding: {encoding}\r\n"
    return f"HTTP/1.1 {status} X\r\n{headers}Content-Length: {len(body)}\r\n\r\n".encode() + body
