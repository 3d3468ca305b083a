"""The alarms of a trial over HTTP, to read."""

from typing import Final, Protocol

import orjson

from app.stores.alarms import Told
from app.wire.http import JSON, HttpReply, HttpRequest
from deployments.asking import PATIENCE_S, in_time

ALARMS: Final = "/alarms"


class Asked(Protocol):
    """The store of alarms, to look at."""

    async def told(self) -> Told:
        """Returns all alarms."""


class AlarmPages:
    """Answers who asks what is wrong."""

    def __init__(self, store: Asked) -> None:
        """Makes the page of a trial."""
        self._store = store

    async def show(self, request: HttpRequest) -> HttpReply:
        """Returns all alarms, the newest first.

        Raises:
          OverloadedError: The store does not answer.
        """
        told = await in_time(self._store.told(), "the store of alarms", PATIENCE_S)
        found = {"alarms": [alarm.as_dict() for alarm in told.alarms], "forgotten": told.forgotten}
        return HttpReply(200, orjson.dumps(found), JSON)
