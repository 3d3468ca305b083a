"""A bounded number of kept connections to one address, shared by all sessions."""

import asyncio
import ssl
from collections.abc import Mapping

from app.client.connection import HttpConnection
from app.client.kept import ConnectionLostError
from app.client.reply import Reply

CONNECT_S = 5.0
"""Longest wait for one connection."""
LEAVE_STATUS = 503
"""Who answers this is going away or not ready; another connection may reach another replica."""


class ConnectionPool:
    """Sends each request over the least used connection; further ones are opened while all are in use.

    Replies of one connection come in the order of its requests; requests of different callers may share one.
    """

    def __init__(self, host: str, port: int, size: int, tls: ssl.SSLContext | None = None) -> None:
        if size < 1:
            raise ValueError(f"a pool has at least 1 connection, got {size}")
        self._places = [_Place(host, port, tls) for _ in range(size)]

    @property
    def idle(self) -> bool:
        """Tells whether nothing is under way."""
        return not any(place.load() for place in self._places)

    async def request(self, method: str, path: str, headers: Mapping[str, str], body: bytes, timeout_s: float) -> Reply:
        """Returns the reply to one request.

        Raises:
          ConnectionLostError: No connection, or none that lasted until the reply within ``timeout_s``.
          TooManyInFlightError: All connections carry as many requests as they may.
        """
        place = self._best()
        place.callers += 1
        try:
            connection = await place.connected()
            reply = await connection.request(method, path, headers, body, timeout_s)
        finally:
            place.callers -= 1
        if reply.status == LEAVE_STATUS:
            connection.retire()
        return reply

    def retire(self) -> None:
        """Leaves the present connections once they are answered; the next requests open others."""
        for place in self._places:
            if place.connection is not None:
                place.connection.retire()

    async def close(self) -> None:
        """Closes all connections."""
        await asyncio.gather(*[place.close() for place in self._places])

    def _best(self) -> "_Place":
        for place in self._places:
            if not place.callers and place.connection is not None and place.connection.free:
                return place  # The usual case, found without asking all.
        return min(self._places, key=_Place.rank)


class _Place:
    """Where one connection after another may stand."""

    def __init__(self, host: str, port: int, tls: ssl.SSLContext | None) -> None:
        self._host, self._port, self._tls = host, port, tls
        self._opening: asyncio.Task[None] | None = None
        self._refused = "never tried"
        self.connection: HttpConnection | None = None
        self.callers = 0

    def load(self) -> int:
        """Returns how many requests are under way, those given up by their caller included; 1 while opening."""
        in_flight = 0 if self.connection is None else self.connection.in_flight
        opening = self._opening is not None and not self._opening.done()
        return max(self.callers, in_flight, opening)

    def rank(self) -> tuple[int, bool]:
        """Returns what is the smaller the sooner a request is sent from here: open and unused, unused, little used."""
        return self.load(), self.connection is None or not self.connection.usable

    async def connected(self) -> HttpConnection:
        """Returns a usable connection; all who wait for one wait for the same."""
        if self.connection is not None and self.connection.usable:
            return self.connection
        if self._opening is None or self._opening.done():
            self._opening = asyncio.create_task(self._open())
        await asyncio.wait([self._opening])  # One who is cancelled leaves it to the others.
        if self.connection is None or not self.connection.usable:
            raise ConnectionLostError(self._refused, sent=False)
        return self.connection

    async def close(self) -> None:
        if self._opening is not None:
            self._opening.cancel()
            await asyncio.wait([self._opening])
        if self.connection is not None:
            await self.connection.close()

    async def _open(self) -> None:
        try:
            self.connection = await HttpConnection.open(self._host, self._port, timeout_s=CONNECT_S, tls=self._tls)
        except ConnectionLostError as error:
            self._refused = str(error)
        else:
            self._refused = f"the connection to {self._host}:{self._port} was closed as soon as it was made"
