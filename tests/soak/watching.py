"""Looks at memory and rows while a soak runs."""

import re
import threading
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Final

import psutil
from ray.exceptions import RayError

from app.errors import SparringError
from app.stores.buffer import BufferStats
from tests.soak.faults import Target
from tests.soak.ledger import Ledger, slope_per_hour

LOOK_S: Final = 5.0
SETTLED_SHARE: Final = 0.3
"""First part of a process's samples that its slope leaves out: imports, buffers that fill."""
_PART: Final = re.compile(r"ray::([\w:]+)|/(raylet|gcs_server)\b")


@dataclass
class Watch:
    """Samples, each few seconds, in a thread of its own."""

    target: Target
    ledger: Ledger
    memory: dict[tuple[str, int], list[tuple[float, float]]] = field(default_factory=lambda: defaultdict(list))
    """Seconds and resident bytes, by part and process."""
    rows: Counter[str] = field(default_factory=Counter)
    """What all shards did, those that have died included, and what was learned from."""
    looks: int = 0
    _shards: dict[int, Counter[str]] = field(default_factory=dict)
    _learned_s: float = field(default_factory=time.time)
    _stop: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        """Begins."""
        self._thread = threading.Thread(target=self._work, name="soak watch", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Looks a last time, and ends."""
        self._stop.set()
        self._thread.join(60)

    def slopes(self) -> dict[str, dict[str, float]]:
        """Returns by part the largest growth of a process that lives, in MiB an hour, and its size in MiB."""
        alive = {process.pid for process in psutil.Process().children(recursive=True)}
        found: dict[str, dict[str, float]] = {}
        for (part, pid), samples in self.memory.items():
            settled = samples[int(len(samples) * SETTLED_SHARE) :]
            slope = slope_per_hour(settled) if pid in alive else None
            if slope is None:
                continue
            told = {"mib_per_hour": round(slope / 2**20, 1), "mib": round(samples[-1][1] / 2**20, 1)}
            if part not in found or told["mib_per_hour"] > found[part]["mib_per_hour"]:
                found[part] = told | {"seconds": round(settled[-1][0] - settled[0][0])}
        return found

    def _work(self) -> None:
        while not self._stop.wait(LOOK_S):
            self._look()
        self._look()

    def _look(self) -> None:
        now_s = time.monotonic()
        for process in psutil.Process().children(recursive=True):
            try:
                match = _PART.search(" ".join(process.cmdline()))
                if match:
                    part = (match[1] or match[2]).partition(".")[0]
                    self.memory[part, process.pid].append((now_s, float(process.memory_info().rss)))
            except psutil.Error:
                continue
        try:
            self._count(self.target.service.trial.buffer("rollouts").stats())
        except (RayError, SparringError):
            return  # A shard is away: it is looked at again.

    def _count(self, stats: BufferStats) -> None:
        self.looks += 1
        for number, shard in enumerate(stats.shards):
            supply = shard.supply
            if supply.inserted != supply.popped + supply.dropped + supply.held:
                self.ledger.fail("rows", f"shard {number} took {supply.inserted} and has {supply}")
            now = Counter(inserted=supply.inserted, handed_out=supply.popped, dropped=supply.dropped)
            before = self._shards.get(number, Counter())
            if now["inserted"] < before["inserted"]:  # Another process: what the one before still held is gone.
                self.rows["gone_with_shards"] += before.total() - 2 * (before["handed_out"] + before["dropped"])
                before = Counter()
            self.rows.update(now - before)
            self._shards[number] = now
        for update in self.target.service.trial.metrics.updates_after(0):
            if update.time_s > self._learned_s:
                self._learned_s = update.time_s
                self.rows["learned"] += int(update.metrics.get("rows", 0))
        if self.rows["learned"] > self.rows["handed_out"]:
            self.ledger.fail("rows", f"more rows were learned from than were handed out: {dict(self.rows)}")
