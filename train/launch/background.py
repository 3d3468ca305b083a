"""Work beside the main thread."""

import threading
from collections.abc import Callable


class Background:
    """A thread whose failure is raised by who asks whether it is done."""

    def __init__(self, work: Callable[[], None], name: str) -> None:
        """Starts the work."""
        self._work = work
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def done(self) -> bool:
        """Returns whether the work is done.

        Raises:
          Exception: What the work raised.
        """
        if not self.ended():
            return False
        if self._error is not None:
            raise self._error
        return True

    def ended(self) -> bool:
        """Returns whether the work is done or failed."""
        return not self._thread.is_alive()

    def join(self, timeout_s: float) -> None:
        """Waits until the work is done or failed, at most so long."""
        self._thread.join(timeout_s)

    def _run(self) -> None:
        try:
            self._work()
        except Exception as error:  # noqa: BLE001  # Kept, and raised by ``done``.
            self._error = error
