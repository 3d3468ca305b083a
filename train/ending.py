"""Ends a trainer whose workers may be starting anew at that moment."""

import time
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from ray.exceptions import RayError

AGAIN_S: Final = 1.0
"""Pause between two times that the end is asked for."""


class Closable(Protocol):
    """An input of a trainer."""

    def close(self) -> None:
        """Ends the streams that are open now."""


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
        """Ends the streams; the trainer saves and returns."""
        self._asked_s = self._clock()
        for one in self._inputs:
            one.close()

    def ask_again(self) -> None:
        """Does so again once a second, where it was asked for; a buffer that is away is asked the next time."""
        if self._asked_s is None or self._clock() - self._asked_s < AGAIN_S:
            return
        try:
            self.ask()
        except RayError:
            return
