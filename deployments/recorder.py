"""Writes recorded episodes to files, from a thread of its own."""

import logging
import queue
import secrets
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Final

import pyarrow as pa

from app.agents.outbox import Outbox
from app.agents.unroll import Row
from app.config.recording import RecordConfig
from app.models.spec import ModelSpec
from app.sources.formats.recordings import remove_oldest, write_recording

MIB: Final = 2**20

_log = logging.getLogger(__name__)


class Recorder:
    """Takes the episodes of one agent in one replica; a tick never waits for the disk.

    Counted: ``recorded_episodes`` that were written, ``recordings_dropped`` because too many waited,
    ``recordings_failed`` that the disk did not take, and ``recordings_removed`` files.
    """

    def __init__(self, folder: Path, agent: str, spec: ModelSpec, config: RecordConfig, counts: Counter[str]) -> None:
        """Starts the thread.

        Args:
          folder: Where files are written; made with the first.
          agent: Its name, with which the files' names begin.
          spec: Of the agent's model.
          config: When a file is written, and how much is kept.
          counts: The replica's.
        """
        self._folder, self._agent, self._config, self._counts = folder, agent, config, counts
        self._outbox = Outbox(spec, 1, lambda: None)
        self._episodes = self._files = 0
        self._since_s: float | None = None
        """When the oldest episode of the next file came."""
        self._process = f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{secrets.token_hex(4)}"
        self._waiting: queue.Queue[list[Row] | None] = queue.Queue(config.max_waiting)
        self._warned = False
        self._thread = threading.Thread(target=self._work, name=f"recorder {agent}", daemon=True)
        self._thread.start()

    def add(self, episode: list[Row]) -> None:
        """Takes an episode with its bootstrap row; never waits, and may be called from any thread."""
        try:
            self._waiting.put_nowait(episode)
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
                episode = self._waiting.get(timeout=self._until_due_s())
            except queue.Empty:
                self._write()
                continue
            if episode is None:
                self._write()
                return
            self._collect(episode)

    def _until_due_s(self) -> float | None:
        """Returns the seconds until the next file must be written; None while nothing waits for it."""
        return None if self._since_s is None else max(0.0, self._since_s + self._config.file_s - time.monotonic())

    def _collect(self, episode: list[Row]) -> None:
        self._outbox.add(episode)
        self._episodes += 1
        if self._since_s is None:
            self._since_s = time.monotonic()
        if len(self._outbox) * self._outbox.row_bytes >= self._config.file_mb * MIB:
            self._write()

    def _write(self) -> None:
        if not len(self._outbox):
            return
        rows, episodes = self._outbox.take(), self._episodes
        self._episodes, self._since_s = 0, None
        self._files += 1
        path = self._folder / f"{self._agent}-{self._process}-{self._files:06d}.parquet"
        try:
            write_recording(path, rows, {"agent": self._agent, "episodes": str(episodes)})
            self._counts["recorded_episodes"] += episodes
            if self._config.max_mb is not None:
                removed = remove_oldest(self._folder, f"{self._agent}-", self._config.max_mb * MIB)
                self._counts["recordings_removed"] += removed
        except (OSError, pa.ArrowException) as error:
            self._counts["recordings_failed"] += episodes
            if not self._warned:  # Once, not for each file.
                self._warned = True
                _log.exception("recordings of agent %s cannot be written to %s: %s", self._agent, self._folder, error)
