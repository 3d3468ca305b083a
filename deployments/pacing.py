"""Sends the rows of one version where games wait, and lets them go on where some are missing."""

import logging
from typing import Final

from ray.exceptions import RayError

from app.agents.pace import Pace
from app.stores.buffer import Buffer
from app.types import Version
from deployments.pusher import Pusher

LOOK_S: Final = 0.25
"""Seconds until the buffer is asked whether rows are missing: other replicas may be about to send theirs."""

_log = logging.getLogger(__name__)


async def keep_pace(pace: Pace, pusher: Pusher, buffer: Buffer) -> None:
    """Works for as long as a replica lives.

    Rows are missing where another replica has fewer games than its share needs, or has ended: whoever waits plays them.
    """
    while True:
        await pace.until_closed()
        await pusher.flush()
        while not await pace.until_opened(LOOK_S):
            try:
                newest, missing = await buffer.missing()
            except RayError as error:  # Its process restarts, without the rows: they are missing then.
                _log.warning("the buffer does not answer, asking again: %s", error)
                continue
            if Version(*newest) <= pace.played and missing:
                pace.want_more(missing)
