"""A TCP port that foreign games connect to."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable

from app.bridges.errors import GameGoneError
from app.bridges.serving import CLOSING_S, Bridge
from app.errors import PortInUseError, SparringError

log = logging.getLogger(__name__)

Play = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
"""Plays what one connection brings."""


async def serve_streams(bridge: Bridge, play: Play, listening: Callable[[int], None]) -> None:
    """Plays all connections until the bridge is over; what one of them does wrong is logged and closes it alone.

    Args:
      bridge: The service's side.
      play: Plays one connection.
      listening: Takes the port once it is open.

    Raises:
      PortInUseError: Somebody else listens on the port.
    """
    under_way: set[asyncio.Task[None]] = set()

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            under_way.add(task)
            task.add_done_callback(under_way.discard)
        try:
            await play(reader, writer)
        except GameGoneError as error:
            log.info("%s", error)
        except (SparringError, TimeoutError, ConnectionError) as error:
            log.error("a game is closed: %s", error or type(error).__name__)  # noqa: TRY400  # The message says all.
        finally:
            writer.close()
            with contextlib.suppress(Exception):
                await writer.wait_closed()

    server = await _listen(take, bridge.settings.host, bridge.settings.port)
    async with server:
        listening(int(server.sockets[0].getsockname()[1]))
        await bridge.over.wait()
        server.close()
        if under_way:
            await asyncio.wait(under_way, timeout=CLOSING_S)
        for task in under_way:
            task.cancel()
        if under_way:
            await asyncio.wait(under_way, timeout=CLOSING_S)


async def _listen(
    take: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]], host: str, port: int
) -> asyncio.Server:
    try:
        return await asyncio.start_server(take, host, port)
    except OSError as error:
        raise PortInUseError(
            f"{host}:{port} cannot be listened on: {error.strerror or error}; take another --port"
        ) from error
