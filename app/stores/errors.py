"""What went wrong anywhere in a trial, kept in one place: the store, and its side in each process."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from app.logs.entry import Entry
from app.logs.errors import ErrorLog, Kept, Wanted
from app.stores.host import StoreHandle

if TYPE_CHECKING:
    import ray


class Errors(NamedTuple):
    """What is known of a trial's errors."""

    newest: Sequence[Kept]
    """Those that were asked for, the oldest first."""
    counts: dict[str, int]
    """How many errors and warnings came since the service's start, and how many are no longer kept."""

    def as_dict(self, *, traceback: bool) -> dict[str, Any]:
        """Returns them as a JSON object."""
        return {"errors": [kept.as_dict(traceback=traceback) for kept in self.newest], "counts": self.counts}


class ErrorStore:
    """Keeps the newest errors and warnings of all processes of a trial."""

    def __init__(self, kept: int) -> None:
        """Begins empty.

        Args:
          kept: As of ``ErrorLog``.
        """
        self._log = ErrorLog(kept)

    async def start(self) -> None:
        """Does nothing: this store only answers."""

    async def add(self, entries: Sequence[Entry]) -> None:
        """Takes what a process has logged."""
        for entry in entries:
            self._log.add(entry)

    async def newest(self, wanted: Wanted) -> Errors:
        """Returns what somebody wants to see."""
        return Errors(self._log.newest(wanted), dict(self._log.counts))


class ErrorClient:
    """What processes, console and commands ask of the error store."""

    def __init__(self, handle: StoreHandle) -> None:
        self._handle = handle

    def add(self, entries: Sequence[Entry], timeout_s: float) -> None:
        """Sends what was logged.

        Raises:
          ray.exceptions.RayError: The store does not answer in time.
        """
        self._handle.get("add", list(entries), timeout_s=timeout_s)

    def newest(self, wanted: Wanted) -> "ray.ObjectRef[Errors]":
        """Asks for errors; awaited."""
        return cast("ray.ObjectRef[Errors]", self._handle.call("newest", wanted))

    def newest_now(self, wanted: Wanted, timeout_s: float = 30.0) -> Errors:
        """Returns errors; for code without an event loop.

        Raises:
          ray.exceptions.RayError: The store does not answer in time.
        """
        return cast("Errors", self._handle.get("newest", wanted, timeout_s=timeout_s))
