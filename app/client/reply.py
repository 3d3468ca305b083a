"""HTTP replies, cut out of a stream of bytes."""

from collections.abc import Callable
from dataclasses import dataclass

import httptools

MAX_HEADER_BYTES = 64 * 1024
MAX_BODY_BYTES = 128 * 1024 * 1024
"""The wire contract's limit of one frame."""
FIRST_FINAL_STATUS = 200
"""Replies below are interim ones, such as 100 Continue."""


@dataclass(frozen=True, slots=True)
class Reply:
    """One HTTP reply; header names are lower-case."""

    status: int
    headers: dict[str, str]
    body: bytes


class BadReplyError(ValueError):
    """The peer's bytes are not HTTP, or larger than allowed."""


class ReplyReader:
    """Calls ``on_reply(reply, keep_alive)`` for each whole reply among the bytes fed to it."""

    def __init__(self, on_reply: Callable[[Reply, bool], None]) -> None:
        self._on_reply = on_reply
        self._parser = httptools.HttpResponseParser(self)
        self._headers: dict[str, str] = {}
        self._chunks: list[bytes] = []
        self._header_bytes = 0
        self._body_bytes = 0
        self.started = False
        """The first byte of a reply was read and its last was not."""

    def feed(self, data: bytes) -> None:
        """Parses the next bytes of the stream.

        Raises:
          BadReplyError: They are not HTTP, or a reply's headers or body pass their limit.
        """
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            raise BadReplyError(f"not an HTTP reply: {error.__context__ or error}") from error

    # Called by the parser.

    def on_message_begin(self) -> None:
        """Notes that a reply has begun."""
        self._headers, self._chunks = {}, []
        self._header_bytes = self._body_bytes = 0
        self.started = True

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keeps one header."""
        self._header_bytes += len(name) + len(value)
        if self._header_bytes > MAX_HEADER_BYTES:
            raise BadReplyError(f"headers over {MAX_HEADER_BYTES} bytes")
        self._headers[name.decode("latin-1").lower()] = _text(value)

    def on_body(self, chunk: bytes) -> None:
        """Keeps one piece of the body."""
        self._body_bytes += len(chunk)
        if self._body_bytes > MAX_BODY_BYTES:
            raise BadReplyError(f"a body over {MAX_BODY_BYTES} bytes")
        self._chunks.append(chunk)

    def on_message_complete(self) -> None:
        """Hands on the reply, unless it is an interim one."""
        status: int = self._parser.get_status_code()
        if status < FIRST_FINAL_STATUS:
            return
        self.started = False
        body = self._chunks[0] if len(self._chunks) == 1 else b"".join(self._chunks)
        self._on_reply(Reply(status, self._headers, body), self._parser.should_keep_alive())


def _text(value: bytes) -> str:
    """Returns the text of a header: UTF-8, or Latin-1 where it is none."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")
