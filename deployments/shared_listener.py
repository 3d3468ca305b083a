"""The listening socket of a shared port: it can be shut from another thread, and opened anew on the loop."""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Callable
from typing import Final

BACKLOG: Final = 1_024
"""Connections that wait to be accepted; the kernel's own limit may be lower."""


class SharedListener:
    """Accepts connections on a port that other replicas may share (SO_REUSEPORT)."""

    def __init__(self, host: str, port: int, protocol: Callable[[], asyncio.Protocol], *, shared: bool) -> None:
        """Keeps the address; ``open`` listens.

        Args:
          host: Address to listen on.
          port: Port; 0 takes a free one, once.
          protocol: Makes the protocol of a connection.
          shared: Whether others may listen there as well.
        """
        self._host = host
        self.port = port
        self._protocol = protocol
        self._shared = shared
        self._socket: socket.socket | None = None
        self._server: asyncio.Server | None = None
        self._lock = threading.Lock()
        self._shut = False

    async def open(self) -> None:
        """Listens.

        Raises:
          OSError: The address cannot be used.
        """
        listening = self._listening()
        self._server = await asyncio.get_running_loop().create_server(self._protocol, sock=listening, backlog=BACKLOG)
        with self._lock:
            self._socket, self._shut = listening, False

    @property
    def listens(self) -> bool:
        """Returns whether it was opened and not closed."""
        return self._server is not None

    def shut(self) -> None:
        """Has the kernel send new connections elsewhere, whatever the loop does; from any thread.

        What is queued here is reset. A socket that listens again would not get its share back, so ``reopen`` makes
        a new one.
        """
        with self._lock:
            if self._socket is None or self._shut:
                return
            self._shut = True
            with contextlib.suppress(OSError):  # The loop closes it just now.
                self._socket.shutdown(socket.SHUT_RD)

    async def reopen(self) -> None:
        """Listens again, after ``shut`` and nothing else."""
        if self._server is not None and self._shut:
            self.close()
            await self.open()

    def close(self) -> None:
        """Listens no more; on the loop."""
        with self._lock:
            self._socket = None
        if self._server is not None:
            self._server.close()
            self._server = None

    def _listening(self) -> socket.socket:
        family = socket.AF_INET6 if ":" in self._host else socket.AF_INET
        listening = socket.socket(family, socket.SOCK_STREAM)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if self._shared:
                listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            listening.setblocking(False)
            listening.bind((self._host, self.port))
        except OSError:
            listening.close()
            raise
        self.port = int(listening.getsockname()[1])
        return listening
