"""Tells the metric store what a process without games has measured, about once a second."""

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final, Protocol, runtime_checkable

import ray
from ray.exceptions import RayError

from app.errors import ServiceNotFoundError
from app.metrics import names
from app.metrics.here import PROCESS
from app.metrics.registry import Registry
from app.metrics.series import Part
from app.stores.host import StoreHandle, find_host
from app.stores.metrics_client import Metrics
from app.stores.names import STORES

EVERY_S: Final = 1.0
"""Seconds between two tellings: what readers look in."""
SEND_S: Final = 5.0
"""Longest wait for the metric store at a time. One that is slow is waited for again, and told nothing else meanwhile:
what it may have taken already must not be told twice."""

_log = logging.getLogger(__name__)


@runtime_checkable
class Measured(Protocol):
    """A store that has gauges."""

    def take_stock(self, registry: Registry, process: str) -> None:
        """Takes down how things stand now.

        Args:
          registry: Where.
          process: Name of the process.
        """


async def tell_for_ever(namespace: str, process: str, stores: Sequence[object], registry: Registry = PROCESS) -> None:
    """Tells what this process has measured, on its event loop.

    Args:
      namespace: Of the trial.
      process: Name of this process.
      stores: What lives in it; those that are ``Measured`` are asked each time.
      registry: What it has measured.
    """
    measured = [store for store in stores if isinstance(store, Measured)]
    started_s = time.time()
    while True:
        await asyncio.sleep(EVERY_S)
        registry.series(names.STORE_STARTED, store=process).add(started_s)
        for store in measured:
            store.take_stock(registry, process)
        parts = registry.growth()
        if not parts:
            continue
        try:
            sending = asyncio.ensure_future(metrics_of(namespace).measure(parts))
            while not sending.done():
                await asyncio.wait([sending], timeout=SEND_S)
            sending.result()
        except (RayError, ServiceNotFoundError) as error:
            _not_taken(registry, parts, error)


class Teller:
    """A thread that tells what this process has measured, for code without an event loop."""

    def __init__(self, metrics: Metrics, before: Callable[[], None], registry: Registry = PROCESS) -> None:
        """Keeps the parts; ``start`` begins.

        Args:
          metrics: Who is told.
          before: Called before each telling: takes down how things stand.
          registry: What this process has measured.
        """
        self._metrics = metrics
        self._before = before
        self._registry = registry
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._work, name="metrics", daemon=True)

    def start(self) -> None:
        """Begins to tell."""
        self._thread.start()

    def close(self) -> None:
        """Tells what is left, and ends."""
        self._ending.set()
        self._thread.join(2 * SEND_S)

    def _work(self) -> None:
        while not self._ending.wait(EVERY_S):
            self._tell()
        self._tell()

    def _tell(self) -> None:
        self._before()
        parts = self._registry.growth()
        if not parts:
            return
        try:
            sending = self._metrics.measure(parts)
            while not ray.wait([sending], timeout=SEND_S)[0]:
                if self._ending.is_set():
                    _log.warning("the metric store has not taken the last metrics within %g s", SEND_S)
                    return
            ray.get(sending, timeout=SEND_S)
        except RayError as error:
            _not_taken(self._registry, parts, error)


def metrics_of(namespace: str) -> Metrics:
    """Returns the metric store of a trial.

    Raises:
      ServiceNotFoundError: It does not run.
    """
    return Metrics(StoreHandle(find_host(namespace, STORES), "metrics"))


def _not_taken(registry: Registry, parts: Sequence[Part], error: Exception) -> None:
    registry.take_back(parts)
    _log.info("the metric store does not answer, its metrics are told later: %s", type(error).__name__)
