"""A file of the updates that the experiment store has not got: overflow of a run under way, or the rest of one.

JSON lines: the run first, then its updates, the oldest first. Its process holds a lock on it for as long as it lives,
so that what lies there without one is left over. To send it twice changes nothing.
"""

import fcntl
import json
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from io import BufferedRandom
from pathlib import Path
from typing import Any, Final

from app.stores import mlflow_connection
from train.mlflow_run import RunStatus, TrackedTrial
from train.update_buffer import LoggedUpdate

UNSENT: Final = "mlflow_unsent"
"""Folder of such files, below a trial's."""
SUFFIX: Final = ".unsent"
SCHEMA: Final = 1
BYTES_MAX: Final = 2**30
"""Largest file: days of updates; what is more is lost and counted."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class UnsentRun:
    """The run that updates belong to."""

    uri: str
    """Address of the store, without user and password."""
    start: str
    """Finds the run again, as a tag of it."""
    trial: TrackedTrial
    status: RunStatus = "KILLED"
    """How it ended; what nobody has written is that of a process that was killed."""
    non_finite: Mapping[str, int] = field(default_factory=dict)
    """Values that were not finite in what was sent."""


class Unsent:
    """The file of one run; made with the first update that it keeps. For one thread at a time."""

    def __init__(self, folder: Path, run: UnsentRun) -> None:
        """Keeps the names.

        Args:
          folder: Where the file is to lie.
          run: Whose it is.
        """
        self._path = folder / f"{run.start}{SUFFIX}"
        self._run = run
        self._file: BufferedRandom | None = None
        self._read_at = 0
        self._kept = 0

    def __len__(self) -> int:
        """Returns the updates that are in it."""
        return self._kept

    def append(self, updates: Sequence[LoggedUpdate]) -> int:
        """Adds updates behind those that are there, and returns how many could not be kept; the log says why."""
        try:
            file = self._opened()
            end = file.seek(0, os.SEEK_END)
            kept = 0
            for update in updates:
                line = _line(update)
                if end + len(line) > BYTES_MAX:
                    break
                end += file.write(line)
                kept += 1
            file.flush()
        except OSError as error:
            _log.error("updates for MLflow are lost, %s cannot be written: %s", self._path, error)
            return len(updates)
        self._kept += kept
        return len(updates) - kept

    def pop(self) -> LoggedUpdate | None:
        """Returns the oldest update and forgets it; None where there is none."""
        if not self._kept or self._file is None:
            return None
        self._file.seek(self._read_at)
        update = _update(self._file.readline())
        self._read_at = self._file.tell()
        self._kept -= 1
        if not self._kept:
            self.remove()
        return update

    def leave(self, updates: Sequence[LoggedUpdate], status: RunStatus, non_finite: Mapping[str, int]) -> int:
        """Replaces what is in it by what a run that has ended could not send; returns how many could not be kept."""
        self.remove()
        run = self._run
        self._run = UnsentRun(run.uri, run.start, run.trial, status, dict(non_finite))
        lost = self.append(updates)
        self._close()
        return lost

    def remove(self) -> None:
        """Removes the file: everything was sent."""
        if self._file is not None:
            self._path.unlink(missing_ok=True)
        self._close()

    def _opened(self) -> BufferedRandom:
        if self._file is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._path.open("w+b")
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            head = json.dumps({"schema_version": SCHEMA} | asdict(self._run), default=str)
            self._read_at = self._file.write(f"{head}\n".encode())
        return self._file

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()  # And with it the lock.
        self._file, self._kept = None, 0


class LeftOver:
    """A file that an earlier process has left, under our lock."""

    def __init__(self, path: Path, file: BufferedRandom, run: UnsentRun) -> None:
        self.run = run
        """Whose updates they are."""
        self._path, self._file = path, file

    def updates(self) -> Iterator[LoggedUpdate]:
        """Returns them, the oldest first; a torn last line, of a process that was killed, is passed over."""
        for line in self._file:
            if not line.endswith(b"\n"):
                return
            yield _update(line)

    def remove(self) -> None:
        """Removes the file: everything was sent, or will never be taken."""
        self._path.unlink(missing_ok=True)
        self._file.close()

    def close(self) -> None:
        """Leaves it to a later process."""
        self._file.close()


def left_over(folder: Path, uri: str) -> list[LeftOver]:
    """Returns what earlier processes have left for a store; files of running ones and of other stores stay alone."""
    found = []
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        file = path.open("r+b")
        run = _locked_run(path, file)
        if run is not None and run.uri == mlflow_connection.shown(uri):
            found.append(LeftOver(path, file, run))
        else:
            file.close()
    return found


def _locked_run(path: Path, file: BufferedRandom) -> UnsentRun | None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return None
    try:
        head: dict[str, Any] = json.loads(file.readline())
        if head.pop("schema_version") == SCHEMA:
            return UnsentRun(**head | {"trial": TrackedTrial(**head["trial"])})
        reason = f"allowed is schema {SCHEMA}"
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        reason = str(error)
    _log.warning("updates for MLflow in %s are passed over: %s", path, reason)
    return None


def _line(update: LoggedUpdate) -> bytes:
    return f"{json.dumps([update.step, update.time_s, update.metrics])}\n".encode()


def _update(line: bytes) -> LoggedUpdate:
    step, time_s, metrics = json.loads(line)
    return LoggedUpdate(step, metrics, time_s)
