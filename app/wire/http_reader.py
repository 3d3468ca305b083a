"""HTTP/1.1 bytes to requests; no I/O."""

from typing import Final
from urllib.parse import parse_qsl

import httptools

from app.errors import BadRequestError, BodyTooLargeError, ExpectationError, StepError
from app.wire.http import HttpRequest, field_text

MAX_HEAD_BYTES: Final = 32 * 1024
"""Largest request line and headers together."""

MAX_KNOWN_NAMES: Final = 256
"""Spellings of header names that are remembered; peers send the same few again and again."""

_names: dict[bytes, str] = {}


class HttpReader:
    """Splits a connection's bytes into requests."""

    __slots__ = (
        "_begun",
        "_body",
        "_complete",
        "_fields",
        "_head_bytes",
        "_head_ended",
        "_max_body",
        "_parser",
        "_refusal",
        "_silent_bytes",
        "_url",
        "expects_continue",
        "failure",
        "held_bytes",
        "rest",
        "upgrade",
    )

    def __init__(self, max_body_bytes: int) -> None:
        self._max_body = max_body_bytes
        self._parser = httptools.HttpRequestParser(self)
        self._complete: list[HttpRequest] = []
        self._refusal: StepError | None = None
        self.failure: StepError | None = None
        """Why the connection is beyond use; None while it is good."""
        self.expects_continue = False
        """Whether the peer waits for the word to send the body; whoever gives it clears this."""
        self.upgrade: HttpRequest | None = None
        """The last request, where it asks for a WebSocket; then there is a failure too, for who does not grant it."""
        self.held_bytes = 0
        """Bytes of a body that is not whole yet."""
        self.rest = b""
        """What came behind the upgrade."""
        self._body: bytes | bytearray = b""
        self.on_message_begin()
        self._begun = False

    @property
    def partial(self) -> bool:
        """Whether a request has begun to come that is not whole yet."""
        return self._begun

    def feed(self, data: bytes) -> list[HttpRequest]:
        """Returns the requests that these bytes complete; sets ``failure`` where bytes behind them are refused."""
        if self.failure is not None:
            return []
        self._silent_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._take_upgrade(data[upgrade.args[0] :])
        except httptools.HttpParserError as error:
            self.failure = self._refusal or BadRequestError(f"not an HTTP/1.1 request: {error}")
        else:
            if self._silent_bytes > MAX_HEAD_BYTES:
                self.failure = _head_too_large()
        complete, self._complete = self._complete, []
        return complete

    def refuse(self, error: StepError) -> None:
        """Lets the request go that has begun, and reads nothing more."""
        self.failure = error
        self._body = b""
        self.held_bytes = 0

    # What follows is called by httptools while it parses.

    def on_message_begin(self) -> None:
        """Forgets the previous request."""
        self._begun = True
        self._url = b""
        self._fields: dict[str, str] = {}
        self._head_ended = False
        self._body = b""
        self._head_bytes = self._silent_bytes = 0
        """Bytes of the head, and bytes of which nothing has come but a head, chunk sizes or what trails a body."""

    def on_url(self, url: bytes) -> None:
        """Takes a part of the target."""
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Takes a header; those that trail a body are passed over."""
        if self._head_ended:
            return
        self._head_bytes += len(name) + len(value)
        self._fields[_names.get(name) or _name(name)] = field_text(value)

    def on_headers_complete(self) -> None:
        """Refuses a head that is too large, and a declared body above the limit before any of it is read."""
        self._head_ended = True
        if self._head_bytes + len(self._url) > MAX_HEAD_BYTES:
            self._refuse(_head_too_large())
        fields = self._fields
        declared = fields.get("content-length", "0")
        if declared.isdecimal() and int(declared) > self._max_body:
            self._refuse_body(f"{declared} bytes were declared")
        if "expect" in fields:
            self._take_expectation(fields["expect"], has_body=declared != "0" or "transfer-encoding" in fields)

    def on_body(self, part: bytes) -> None:
        """Takes a part of the body."""
        self.expects_continue = False
        self._silent_bytes = 0
        size = len(self._body) + len(part)
        if size > self._max_body:
            self._refuse_body(f"{size} bytes arrived")
        self.held_bytes = size
        if not self._body:
            self._body = part
            return
        if isinstance(self._body, bytes):
            self._body = bytearray(self._body)  # Grows in place: a list would cost 50 bytes for each small part.
        self._body += part

    def on_message_complete(self) -> None:
        """Keeps the whole request."""
        self._begun = self.expects_continue = False
        self._silent_bytes = self.held_bytes = 0
        url, fields = self._url, self._fields
        if url[:1] != b"/" or b"?" in url or b"#" in url:
            url, fields = self._target(url, fields)
        parser = self._parser
        self._complete.append(
            HttpRequest(
                parser.get_method(), url.decode("latin-1"), fields, bytes(self._body), parser.should_keep_alive()
            )
        )
        self._body = b""  # A connection that says nothing more holds no body.

    def _target(self, target: bytes, fields: dict[str, str]) -> tuple[bytes, dict[str, str]]:
        """Returns the path, and the fields with those of the query."""
        if target == b"*":  # Of an OPTIONS request.
            return target, fields
        try:
            url = httptools.parse_url(target)
        except httptools.HttpParserInvalidURLError:
            url = None
        if url is None or url.path is None:
            self._refusal = BadRequestError(f"the target {target[:80]!r} is not a path")
            raise self._refusal
        if not url.query:
            return url.path, fields
        query = parse_qsl(field_text(url.query), keep_blank_values=True)
        return url.path, {name.lower().replace("_", "-"): value for name, value in query} | fields

    def _take_upgrade(self, rest: bytes) -> None:
        """Takes a request that asks for another protocol; of its body the parser tells nothing."""
        request = self._complete.pop()
        wanted = request.fields.get("upgrade", "")
        if request.method == b"GET" and wanted.lower() == "websocket":
            self.upgrade, self.rest = request, rest
            self.failure = BadRequestError(
                f"a WebSocket is opened at /ws, behind the last reply of its connection; got {request.path}"
            )
        else:
            self.failure = BadRequestError(
                f"an upgrade to {wanted[:40]!r} is not served on this port; speak plain HTTP/1.1, or WebSocket at /ws"
            )

    def _take_expectation(self, expectation: str, *, has_body: bool) -> None:
        if expectation.lower() != "100-continue":
            self._refuse(ExpectationError(f"expect is {expectation[:40]!r}; allowed is 100-continue"))
        self.expects_continue = has_body and self._parser.get_http_version() != "1.0"

    def _refuse_body(self, what: str) -> None:
        self._refuse(BodyTooLargeError(f"{what}; allowed are {self._max_body}"))

    def _refuse(self, error: StepError) -> None:
        self.expects_continue = False
        self._refusal = error
        raise error


def _name(name: bytes) -> str:
    """Returns the name of a field: lower case, with ``-`` for ``_``."""
    known = name.decode("latin-1").lower().replace("_", "-")
    if len(_names) < MAX_KNOWN_NAMES:
        _names[name] = known
    return known


def _head_too_large() -> BadRequestError:
    return BadRequestError(f"the request's head is over the {MAX_HEAD_BYTES} bytes allowed")
