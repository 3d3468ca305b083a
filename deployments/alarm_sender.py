"""Collects the alarms of a replica, and sends them to the trial's store."""

import asyncio
import logging
import threading
from collections.abc import Sequence
from typing import Any, Final, Protocol

from ray.exceptions import RayError

from app.checks.alarm import Alarm, Alarms

EVERY_S: Final = 0.5
"""Seconds between two reports: what an operator or a trainer needs to hear of something soon."""
SEND_TIMEOUT_S: Final = 10.0
"""Longest wait for the store."""

_log = logging.getLogger(__name__)


class Store(Protocol):
    """Takes alarms."""

    def report(self, alarms: Sequence[Alarm]) -> Any:  # Ray's reference is awaited.
        """Sends alarms; the answer is awaited."""


class AlarmSender:
    """Takes alarms from any thread and never lets it wait; the first of each check and field is logged."""

    def __init__(self, store: Store) -> None:
        """Keeps the store, to which ``run`` sends."""
        self._store = store
        self._lock = threading.Lock()
        self._waiting = Alarms()
        self._logged: set[tuple[str, str, str]] = set()

    def tell(self, alarm: Alarm) -> None:
        """Takes an alarm."""
        with self._lock:
            self._waiting.add([alarm])
            first = alarm.key not in self._logged
            self._logged.add(alarm.key)
        if first:
            _log.warning("%s", alarm)

    async def run(self) -> None:
        """Sends for as long as it runs."""
        while True:
            await asyncio.sleep(EVERY_S)
            await self.flush()

    async def flush(self) -> None:
        """Sends what waits; what could not be sent is sent the next time."""
        with self._lock:
            alarms = self._waiting.take()
        if not alarms:
            return
        try:
            async with asyncio.timeout(SEND_TIMEOUT_S):
                await self._store.report(alarms)
        except (RayError, TimeoutError) as error:
            _log.warning("the store of alarms does not answer, sending %d again: %s", len(alarms), error)
            with self._lock:
                newer = self._waiting.take()
                self._waiting.add([*alarms, *newer])
