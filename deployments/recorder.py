"""Writes recorded games to files, from a thread of its own."""

import logging
import queue
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from app.agents.game_log import Played
from app.config.recording import RecordConfig
from app.models.spec import ModelSpec
from app.recordings.files import remove_older, remove_oldest, write_table
from app.recordings.learned import learned_rows
from app.recordings.privacy import Privacy
from app.recordings.table import table
from app.types import Rows

MIB: Final = 2**20
DAY_S: Final = 86_400

_log = logging.getLogger(__name__)


class Recorder:
    """Takes the episodes of one agent in one replica; a tick never waits for the disk.

    Counted: ``recorded_episodes`` that were written (parts of a long one count as one each), ``recordings_dropped``
    because too many waited, ``recordings_failed`` that the disk did not take, and ``recordings_removed`` files.
    """

    def __init__(
        self,
        folder: Path,
        agent: str,
        spec: ModelSpec | None,
        config: RecordConfig,
        counts: Counter[str],
        privacy: Privacy | None = None,
        about: Mapping[str, str] | None = None,
        look: Callable[[Rows], None] | None = None,
    ) -> None:
        """Starts the thread.

        Args:
          folder: Where files are written; made with the first.
          agent: Its name, with which the files' names begin.
          spec: Of the agent's model; None where it asks none.
          config: When a file is written, and how much is kept.
          counts: The replica's.
          privacy: What does not reach the disk; None lets everything pass.
          about: What else the files tell of themselves; None: nothing.
          look: Looks at the rows of what was recorded, in the recorder's thread; None where nobody does.
        """
        self._folder, self._agent, self._spec, self._config, self._counts = folder, agent, spec, config, counts
        self._privacy = Privacy() if privacy is None else privacy
        self._about = {"agent": agent, **(about or {})}
        self._look = look
        self._collected: list[Played] = []
        self._bytes = self._files = 0
        self._since_s: float | None = None
        """When the oldest episode of the next file came."""
        self._process = f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{secrets.token_hex(4)}"
        self._waiting: queue.Queue[Played | None] = queue.Queue(config.max_waiting)
        self._warned = False
        self._thread = threading.Thread(target=self._work, name=f"recorder {agent}", daemon=True)
        self._thread.start()

    def add(self, played: Played) -> None:
        """Takes an episode, or a part of it; never waits, and may be called from any thread."""
        try:
            self._waiting.put_nowait(played)
        except queue.Full:
            self._counts["recordings_dropped"] += 1

    def close(self, timeout_s: float) -> bool:
        """Writes what waits and ends; returns whether that was done in time."""
        try:
            self._waiting.put(None, timeout=timeout_s)
        except queue.Full:
            return False
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _work(self) -> None:
        while True:
            try:
                played = self._waiting.get(timeout=self._until_due_s())
            except queue.Empty:
                self._write()
                continue
            if played is None:
                self._write()
                return
            self._collect(played)

    def _until_due_s(self) -> float | None:
        """Returns the seconds until the next file must be written; None while nothing waits for it."""
        return None if self._since_s is None else max(0.0, self._since_s + self._config.file_s - time.monotonic())

    def _collect(self, played: Played) -> None:
        self._collected.append(played)
        self._bytes += sum(entry.size for entry in played.entries)
        if self._since_s is None:
            self._since_s = time.monotonic()
        if self._bytes >= self._config.file_mb * MIB:
            self._write()

    def _write(self) -> None:
        played, self._collected = self._collected, []
        self._bytes, self._since_s = 0, None
        if not played:
            return
        self._look_at(played)
        self._files += 1
        path = self._folder / f"{self._agent}-{self._process}-{self._files:06d}.parquet"
        try:
            write_table(path, table(played, self._spec, self._privacy, self._about | {"episodes": str(len(played))}))
            self._counts["recorded_episodes"] += len(played)
            self._make_room()
        except Exception as error:  # noqa: BLE001  # A user's agent may note what fits no column; others are recorded.
            self._counts["recordings_failed"] += len(played)
            if not self._warned:  # Once, not for each file.
                self._warned = True
                _log.exception("recordings of agent %s cannot be written to %s: %s", self._agent, self._folder, error)

    def _look_at(self, played: Sequence[Played]) -> None:
        if self._look is None or self._spec is None:
            return
        rows = learned_rows(played, self._spec)
        if rows is not None:
            self._look(rows)

    def _make_room(self) -> None:
        begins = f"{self._agent}-"
        if self._config.max_days is not None:
            than_s = time.time() - self._config.max_days * DAY_S
            self._counts["recordings_removed"] += remove_older(self._folder, begins, than_s)
        if self._config.max_mb is not None:
            removed = remove_oldest(self._folder, begins, self._config.max_mb * MIB)
            self._counts["recordings_removed"] += removed
