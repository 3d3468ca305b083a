"""What kept client connections have in common: how they are opened, and how they end."""

import asyncio
import socket
import ssl
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TypeVar, cast

from app.client.errors import ClientError


class ConnectionLostError(ClientError):
    """The connection ended, or could not be made, before the reply was whole.

    Attributes:
      sent: The request may have reached the peer.
      reply_started: The first byte of its reply had arrived; if not, a retry is safe even without ``seq``.
    """

    def __init__(self, message: str, *, sent: bool, reply_started: bool = False) -> None:
        super().__init__(message)
        self.sent = sent
        self.reply_started = reply_started


class KeptConnection(asyncio.Protocol, ABC):
    """A connection that carries requests until it ends.

    Not reconnecting: once ``usable`` is false, open another.
    """

    def __init__(self, peer: str) -> None:
        """Makes a connection that is not open yet.

        Args:
          peer: ``host:port``, for messages.
        """
        self._peer = peer
        self._loop = asyncio.get_running_loop()
        self._closed = self._loop.create_future()
        self._transport: asyncio.Transport | None = None
        self._usable = False

    @property
    def usable(self) -> bool:
        """Tells whether the connection still takes requests."""
        return self._usable

    def end_unheard(self, after_ms: int) -> None:
        """Has the connection end where the peer's system leaves bytes unacknowledged for so long; Linux alone can."""
        if self._transport is not None and hasattr(socket, "TCP_USER_TIMEOUT"):
            connected = self._transport.get_extra_info("socket")
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, after_ms)

    async def close(self, timeout_s: float = 1.0) -> None:
        """Closes the connection, failing what is under way, and waits at most ``timeout_s`` until it is gone."""
        if self._transport is None:
            return
        self._abort("closed by this side")
        await asyncio.wait([self._closed], timeout=timeout_s)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Takes the transport into use."""
        self._transport = cast("asyncio.Transport", transport)
        self._usable = True

    def connection_lost(self, exc: Exception | None) -> None:
        """Fails everything under way."""
        self._fail_waiters(str(exc) if exc else "closed by the peer")
        if not self._closed.done():
            self._closed.set_result(None)

    @abstractmethod
    def _fail_waiters(self, reason: str) -> None:
        """Takes no more requests, and fails those that wait."""

    def _abort(self, reason: str) -> None:
        self._fail_waiters(reason)
        if self._transport is not None:
            self._transport.abort()


ConnectionT = TypeVar("ConnectionT", bound=KeptConnection)


async def opened(
    make: Callable[[str], ConnectionT], host: str, port: int, timeout_s: float, tls: ssl.SSLContext | None = None
) -> ConnectionT:
    """Returns a new connection to ``host:port``.

    Args:
      make: Makes a connection that is not open yet, from the name of its peer.
      host: Who to connect to.
      port: And where.
      timeout_s: Longest wait.
      tls: How the peer's certificate is checked; None speaks no TLS.

    Raises:
      ConnectionLostError: Nobody accepts connections there in time, or not one whose certificate is good.
    """
    peer = f"{host}:{port}"
    try:
        async with asyncio.timeout(timeout_s):
            _, connection = await asyncio.get_running_loop().create_connection(lambda: make(peer), host, port, ssl=tls)
    except TimeoutError as error:
        raise ConnectionLostError(f"no connection to {peer} within {timeout_s:g} s", sent=False) from error
    except OSError as error:
        raise ConnectionLostError(f"no connection to {peer}: {error}", sent=False) from error
    return connection
