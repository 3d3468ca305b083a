"""SPDY/3.1 as far as ``kubectl port-forward`` speaks it: streams that each carry one connection to a pod's port."""

import contextlib
import socket
import struct
import threading
import zlib
from collections.abc import Callable
from typing import BinaryIO, Final

WORDS: Final = (
    "options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age allow "
    "authorization cache-control connection content-base content-encoding content-language content-length "
    "content-location content-md5 content-range content-type date etag expect expires from host if-match "
    "if-modified-since if-none-match if-range if-unmodified-since last-modified location max-forwards pragma "
    "proxy-authenticate proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade "
    "user-agent vary via warning www-authenticate method get status 200_OK version HTTP/1.1 url public set-cookie "
    "keep-alive origin"
)
REST: Final = (
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505203 Non-Authoritative "
    "Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden404 Not Found500 "
    "Internal Server Error501 Not Implemented503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec "
    "00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,application/xml,"
    "application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset="
    "iso-8859-1,utf-,*,enq=0."
)


def _counted(word: str) -> bytes:
    return struct.pack("!I", len(word)) + word.encode()


DICTIONARY: Final = b"".join(_counted(word.replace("_", " ")) for word in WORDS.split()) + REST.encode()
"""What both sides' zlib knows of headers from the start; a constant of the protocol."""
CONTROL: Final = 0x80030000
SYN_STREAM, SYN_REPLY, RST_STREAM, PING, GOAWAY = 1, 2, 3, 6, 7
FIN: Final = 1
MOST_BYTES: Final = 2**24 - 1
PIECE_BYTES: Final = 2**16
ENDS_S: Final = 10.0
Dial = Callable[[int], socket.socket]


class Forwarding:
    """One connection of kubectl, upgraded to SPDY."""

    def __init__(self, reads: BinaryIO, writes: BinaryIO, dial: Dial) -> None:
        """Speaks over a connection.

        Args:
          reads: Where kubectl's frames come from.
          writes: Where ours go.
          dial: Connects to a port of the pod; an ``OSError`` is told to kubectl.
        """
        self._reads, self._writes, self._dial = reads, writes, dial
        self._writing = threading.Lock()
        self._inflate, self._deflate = zlib.decompressobj(zdict=DICTIONARY), zlib.compressobj(zdict=DICTIONARY)
        self._errors: dict[str, int] = {}
        self._connections: dict[int, socket.socket] = {}
        self._threads: list[threading.Thread] = []

    def serve(self) -> None:
        """Forwards until kubectl hangs up."""
        try:
            while len(head := self._reads.read(8)) == 8:
                first, second = struct.unpack("!II", head)
                body = self._reads.read(second & MOST_BYTES)
                if first & 0x80000000:
                    if first & 0xFFFF == GOAWAY:
                        return
                    self._control(first & 0xFFFF, body)
                else:
                    self._data(first, second >> 24, body)
        finally:
            for connection in self._connections.values():
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
            for thread in self._threads:
                thread.join(ENDS_S)

    def _control(self, kind: int, body: bytes) -> None:
        if kind == SYN_STREAM:
            (stream,) = struct.unpack("!I", body[:4])
            headers = self._headers(body[10:])
            block = self._deflate.compress(struct.pack("!I", 0)) + self._deflate.flush(zlib.Z_SYNC_FLUSH)
            self._send(CONTROL | SYN_REPLY, 0, struct.pack("!I", stream) + block)
            if headers["streamtype"] == "error":
                self._errors[headers["requestid"]] = stream
            else:
                self._open(stream, self._errors.pop(headers["requestid"]), int(headers["port"]))
        elif kind == PING:
            self._send(CONTROL | PING, 0, body)
        elif kind == RST_STREAM:
            self._data(struct.unpack("!I", body[:4])[0], FIN, b"")

    def _headers(self, block: bytes) -> dict[str, str]:
        plain = self._inflate.decompress(block)
        (count,), place, words = struct.unpack("!I", plain[:4]), 4, []
        for _ in range(2 * count):
            (length,) = struct.unpack("!I", plain[place : place + 4])
            words.append(plain[place + 4 : place + 4 + length].decode())
            place += 4 + length
        return dict(zip(words[::2], words[1::2], strict=True))

    def _open(self, stream: int, errors: int, port: int) -> None:
        try:
            connection = self._dial(port)
        except OSError as error:
            self._send(errors, FIN, str(error).encode())
            self._send(stream, FIN, b"")
            return
        self._connections[stream] = connection
        thread = threading.Thread(target=self._answers, args=(stream, errors, connection))
        self._threads.append(thread)
        thread.start()

    def _answers(self, stream: int, errors: int, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):  # kubectl may be gone.
            while piece := connection.recv(PIECE_BYTES):
                self._send(stream, 0, piece)
            self._send(stream, FIN, b"")
            self._send(errors, FIN, b"")

    def _data(self, stream: int, flags: int, body: bytes) -> None:
        connection = self._connections.get(stream)
        if connection is not None:
            with contextlib.suppress(OSError):  # The pod has hung up.
                connection.sendall(body)
                if flags & FIN:
                    connection.shutdown(socket.SHUT_WR)

    def _send(self, first: int, flags: int, body: bytes) -> None:
        with self._writing:
            self._writes.write(struct.pack("!II", first, flags << 24 | len(body)) + body)
            self._writes.flush()
