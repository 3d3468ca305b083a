"""A thread that looks after something beside training."""

import logging
import threading
from collections.abc import Callable
from typing import Final

from ray.exceptions import RayError

from app.errors import SparringError

LOOK_S: Final = 0.2
"""Seconds between two looks."""

_log = logging.getLogger(__name__)


class Beside:
    """Looks again and again; a look that fails is logged, since the next one may come through."""

    def __init__(self, name: str, look: Callable[[], None]) -> None:
        """Keeps the parts; nothing is started.

        Args:
          name: What is looked after, for the log.
          look: Does what is due; one that takes long asks ``wait`` between its steps.
        """
        self._name = name
        self._look = look
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)

    def start(self) -> None:
        """Begins to look."""
        self._thread.start()

    def close(self, timeout_s: float) -> None:
        """Ends; a look that is under way is waited for."""
        self._ending.set()
        if self._thread.ident is not None:
            self._thread.join(timeout_s)

    def wait(self) -> bool:
        """Waits for the next look, and returns whether there is to be none."""
        return self._ending.wait(LOOK_S)

    def _work(self) -> None:
        while not self.wait():
            try:
                self._look()
            except (SparringError, RayError, OSError, TimeoutError) as error:
                _log.warning("looking after %s failed, and is tried again: %s", self._name, error)
