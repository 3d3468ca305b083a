"""Ends a trainer whose workers may be starting anew at that moment."""

import logging
import time
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from ray.exceptions import RayError

AGAIN_S: Final = 1.0
"""Pause between two times that the end is asked for."""

_log = logging.getLogger(__name__)


class Closable(Protocol):
    """An input of a trainer."""

    def close(self) -> None:
        """Ends the streams that are open now.

        Raises:
          ray.exceptions.RayError: The process that holds them is away.
        """


class Ending:
    """Ends the streams, and ends them again while the trainer goes on.

    Workers that start after one of them has died begin streams of their own, and a buffer whose process has restarted
    knows of no end: neither would ever notice that the end was asked for before.
    """

    def __init__(self, inputs: Sequence[Closable], clock: Callable[[], float] = time.monotonic) -> None:
        """Ends nothing yet.

        Args:
          inputs: Of the trainer.
          clock: Returns seconds that never go back.
        """
        self._inputs = inputs
        self._clock = clock
        self._asked_s: float | None = None

    def ask(self) -> None:
        """Ends the streams; the trainer saves and returns. A buffer that is away is told by ``ask_again``."""
        self._asked_s = self._clock()
        for one in self._inputs:
            try:
                one.close()
            except RayError as error:
                _log.info("an input cannot be told yet that training ends: %s", error)

    def ask_again(self) -> None:
        """Does so again once a second, where it was asked for."""
        if self._asked_s is not None and self._clock() - self._asked_s >= AGAIN_S:
            self.ask()
