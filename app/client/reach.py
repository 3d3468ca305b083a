"""Whether somebody listens at an address, as the kernel there tells: a process that stands still is listening."""

import errno
from enum import Enum, auto
from typing import Final

from app.client.connection import HttpConnection
from app.client.kept import ConnectionLostError

UNREACHED: Final = (errno.EHOSTUNREACH, errno.ENETUNREACH, errno.ETIMEDOUT, errno.EHOSTDOWN)
"""What a system says where no machine answers."""


class Reach(Enum):
    """What became of a connection."""

    ACCEPTED = auto()
    REFUSED = auto()
    """Nobody listens: the process is gone."""
    SILENT = auto()
    """No machine answers: it is gone, or the way to it is cut."""
    UNCLEAR = auto()
    """It failed for another reason, which says nothing about who listens."""


async def reach(host: str, port: int, timeout_s: float) -> Reach:
    """Returns what becomes of a new connection, which is closed at once."""
    try:
        connection = await HttpConnection.open(host, port, timeout_s=timeout_s)
    except ConnectionLostError as error:
        return reach_of(error)
    await connection.close()
    return Reach.ACCEPTED


def reach_of(error: ConnectionLostError) -> Reach:
    """Returns why a connection could not be opened."""
    cause = error.__cause__
    if isinstance(cause, ConnectionRefusedError):
        return Reach.REFUSED
    if isinstance(cause, TimeoutError) or getattr(cause, "errno", None) in UNREACHED:
        return Reach.SILENT
    return Reach.UNCLEAR
