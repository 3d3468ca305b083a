"""Sends what a process logs as a warning or worse to the trial's error store, from a thread of its own."""

import logging
import queue
import threading
from collections.abc import Callable, Sequence
from typing import Final

import ray
from ray.exceptions import RayError

from app.errors import ServiceNotFoundError
from app.logs.entry import Entry, Source, entry_of
from app.logs.setting_up import LogSettings, set_up_logs
from app.stores.errors import ErrorClient
from app.stores.host import StoreHandle, find_host
from app.stores.names import PREFIX, STORES

WAITING_MAX: Final = 1_000
"""Entries that may wait for the store; one more is dropped and counted."""
AT_ONCE_MAX: Final = 100
"""Entries of one call."""
TRY_AGAIN_S: Final = 1.0
"""Seconds after which a store that does not answer is tried again."""
SEND_S: Final = 5.0
"""Longest wait for the store."""
CLOSE_S: Final = SEND_S + 3.0
"""Longest wait for the last entries: a call that is under way when Ray ends takes the whole process with it."""

Send = Callable[[Sequence[Entry]], None]
"""Takes entries to the store, or raises ``RayError``, ``TimeoutError`` or ``ServiceNotFoundError``."""


class ErrorForwarder(logging.Handler):
    """A log handler that never makes its caller wait; how many entries were lost goes with the next one that is sent.

    The same handler stands at the root, so that an agent's own loggers are heard as well.
    """

    def __init__(self, source: Source, send: Send) -> None:
        """Starts the thread.

        Args:
          source: The process.
          send: Takes entries to the store.
        """
        super().__init__(logging.WARNING)
        self.dropped = 0
        """Entries that were lost because too many waited."""
        self._source, self._send = source, send
        self._waiting: queue.Queue[Entry | None] = queue.Queue(WAITING_MAX)
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._work, name="errors", daemon=True)
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        """Takes a record; what this thread itself does, and Ray's own lines, are passed over."""
        if threading.current_thread() is self._thread or record.name.partition(".")[0] == "ray":
            return
        try:
            self._waiting.put_nowait(entry_of(record, self._source))
        except queue.Full:
            self.dropped += 1

    def close(self) -> None:
        """Sends what waits, for a moment, and ends; closing twice is harmless."""
        if not self._ending.is_set():
            self._ending.set()
            try:
                self._waiting.put_nowait(None)
            except queue.Full:
                self.dropped += 1
            self._thread.join(CLOSE_S)
        super().close()

    def _work(self) -> None:
        while (first := self._waiting.get()) is not None:
            entries = [first]
            while len(entries) < AT_ONCE_MAX and not self._waiting.empty():
                more = self._waiting.get()
                if more is None:
                    self._deliver(entries)
                    return
                entries.append(more)
            if not self._deliver(entries):
                return

    def _deliver(self, entries: Sequence[Entry]) -> bool:
        """Returns whether the store has taken the entries; it did not where the end came first."""
        while True:
            try:
                self._send(entries)
            except (RayError, TimeoutError, ServiceNotFoundError):
                if self._ending.wait(TRY_AGAIN_S):
                    return False
            else:
                return True


def watch_errors(namespace: str, process: str, logs: LogSettings) -> ErrorForwarder:
    """Sets the logs of this process up, and sends its errors to the trial's store from now on.

    Args:
      namespace: Of the trial.
      process: What this process is, for readers.
      logs: The config's section.
    """
    source = Source(namespace.removeprefix(PREFIX), process)
    set_up_logs(logs, source)
    forwarder = ErrorForwarder(source, _Sender(namespace))
    root = logging.getLogger()
    for handler in [one for one in root.handlers if isinstance(one, ErrorForwarder)]:
        root.removeHandler(handler)
        handler.close()
    root.addHandler(forwarder)
    return forwarder


def end_watching() -> None:
    """Sends what is left and forwards nothing more; before Ray ends in this process."""
    root = logging.getLogger()
    for handler in [one for one in root.handlers if isinstance(one, ErrorForwarder)]:
        root.removeHandler(handler)
        handler.close()


def tell(logger: str, message: str, error: BaseException) -> None:
    """Hands an error to the store alone, which whoever is there is told of in another way."""
    record = logging.LogRecord(logger, logging.ERROR, "", 0, message, (), (type(error), error, error.__traceback__))
    for handler in logging.getLogger().handlers:
        if isinstance(handler, ErrorForwarder):
            handler.emit(record)


class _Sender:
    """Finds the store when it is first needed, and anew after a failure."""

    def __init__(self, namespace: str) -> None:
        self._namespace = namespace
        self._client: ErrorClient | None = None

    def __call__(self, entries: Sequence[Entry]) -> None:
        if not ray.is_initialized():
            raise ServiceNotFoundError("Ray does not run in this process")
        if self._client is None:
            self._client = ErrorClient(StoreHandle(find_host(self._namespace, STORES), "errors"))
        try:
            self._client.add(entries, SEND_S)
        except RayError:
            self._client = None
            raise
