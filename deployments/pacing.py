"""Sends the rows of one version where games wait, and lets them go on where some are missing."""

import logging
import secrets
from typing import Final

from ray.exceptions import RayError

from app.agents.pace import Pace
from app.stores.buffer import Buffer
from deployments.pusher import Pusher

LOOK_S: Final = 0.25
"""Seconds until the buffer is asked whether rows are missing: other replicas may be about to send theirs. It is told as
often that missing rows are being played."""

_log = logging.getLogger(__name__)


async def keep_pace(pace: Pace, pusher: Pusher, buffer: Buffer) -> None:
    """Works for as long as a replica lives.

    Rows are missing where another replica has fewer games than its share needs, or has ended: of those that wait one is
    asked to play them. What the other one sends nevertheless is dropped by the buffer.
    """
    claimer, asked = secrets.token_hex(8), False
    while True:
        await _played(pace, buffer, claimer if asked else None)
        await pusher.flush()
        asked = await _asked(pace, buffer, claimer)


async def _played(pace: Pace, buffer: Buffer, claimer: str | None) -> None:
    """Returns when games wait; with a claimer's name the buffer is told that it plays on, as long as it does."""
    seen = pace.rows
    while not await pace.until_closed(None if claimer is None else LOOK_S):
        if claimer is not None and pace.rows != seen:
            seen = pace.rows
            try:
                await buffer.renew(claimer, pace.played)
            except RayError as error:
                _log.warning("the buffer does not answer, telling it again: %s", error)


async def _asked(pace: Pace, buffer: Buffer, claimer: str) -> bool:
    """Returns, when games go on, whether they do to play missing rows; newer weights let them go on otherwise."""
    while not await pace.until_opened(LOOK_S):
        version = pace.played
        try:
            rows = await buffer.claim(claimer, version)
        except RayError as error:  # Its process restarts, without the rows: they are missing then.
            _log.warning("the buffer does not answer, asking again: %s", error)
            continue
        if rows and pace.played == version:
            pace.want_more(rows)
            return True
    return False
