"""Batches of rows that are each learned from once, in the order in which they came."""

import numpy as np
from numpy.typing import NDArray

from app.replay.ancestry import NO_ANCESTRY, Ancestry
from app.replay.claims import Claims
from app.replay.fifo import Fifo, check_ended
from app.replay.sample import Keys
from app.replay.supply import Parts, SupplyStats, WhenFull
from app.types import UNTRAINED, RowKind, Rows, Version


class FifoSupply:
    """A queue that hands out batches of ``batch_rows``."""

    def __init__(
        self,
        batch_rows: int,
        keep_rows: int,
        capacity_rows: int,
        when_full: WhenFull,
        *,
        one_version: bool = False,
    ) -> None:
        """Makes an empty queue.

        Args:
          batch_rows: Rows of a batch, bootstrap rows included.
          keep_rows: Rows below which nothing is dropped, and nothing refused.
          capacity_rows: Rows from which on the queue is full.
          when_full: What becomes of a push then.
          one_version: Whether each version gets ``keep_rows`` and no more: what is older than the newest is dropped,
            and what comes when it has its rows. Then nothing else is dropped, and nothing refused.

        Raises:
          ValueError: ``keep_rows`` is below 2, below ``batch_rows`` or above ``capacity_rows``.
        """
        if keep_rows < batch_rows:
            raise ValueError(f"a queue keeps at least a batch of {batch_rows} rows, got keep_rows {keep_rows}")
        self._fifo = Fifo(capacity_rows, keep_rows)
        self._batch_rows, self._when_full = batch_rows, when_full
        self._one_version, self._keep_rows = one_version, keep_rows
        self._newest = UNTRAINED
        self._of_newest = 0
        """Rows that came of the newest version."""
        self._batches_left = keep_rows // batch_rows
        """Batches of the newest version that were not handed out."""
        self._claims = Claims()

    def insert(self, rows: Rows) -> bool:
        """Takes trajectories, or refuses all of them; the oldest or the newest are dropped where it is full.

        Raises:
          ValueError: The columns differ in length, or the last row is a step.
        """
        check_ended(rows)
        if self._one_version:
            self._fifo.insert(self._needed(rows), drop_oldest=False)
            return True
        size, room = len(rows["kind"]), self._fifo.room_rows()
        if self._when_full is WhenFull.DROP_OLDEST or size <= room:
            self._fifo.insert(rows, drop_oldest=self._when_full is WhenFull.DROP_OLDEST)
            return True
        if (
            len(self._fifo) < self._batch_rows
        ):  # Whatever a batch still lacks is taken whole: it cannot wait for itself.
            self._fifo.insert(rows, drop_oldest=False)
            return True
        if self._when_full is WhenFull.REFUSE:
            return False
        kept = _whole_rows(rows, room)
        self._fifo.insert({name: column[:kept] for name, column in rows.items()}, drop_oldest=False)
        self._fifo.counts.inserted += size - kept
        self._fifo.counts.dropped += size - kept
        return True

    def missing(self, version: Version) -> int:
        """Returns how many rows of a version have not come yet; none are missing of one that a newer one followed."""
        if version < self._newest:
            return 0
        return max(0, self._keep_rows - (self._of_newest if version == self._newest else 0))

    def claim(self, claimer: str, version: Version, now_s: float) -> int:
        """Returns how many rows of a version a replica is to play: those that are missing, unless another plays them.

        Args:
          claimer: Names the replica.
          version: That its games wait with.
          now_s: Time of a clock that never goes back.
        """
        missing = self.missing(version)
        return missing if missing and self._claims.take(claimer, version, now_s) else 0

    def renew(self, claimer: str, version: Version, now_s: float) -> None:
        """Notes that a replica still plays what it was asked for."""
        self._claims.renew(claimer, version, now_s)

    def batches(self, limit: int) -> int:
        """Returns how many batches are there, up to ``limit``."""
        there = len(self._fifo) // self._batch_rows
        return min(limit, there, self._batches_left) if self._one_version else min(limit, there)

    def draw(self) -> Parts | None:
        """Returns the oldest rows; None while there is no whole batch."""
        if not self.batches(1):
            return None
        self._batches_left -= 1
        return self._fifo.pop_parts(self._batch_rows)

    def update_priorities(self, keys: Keys, priorities: NDArray[np.float64]) -> int:
        """Ignores all of them: rows of a queue are gone when they have been learned from."""
        return len(priorities)

    def advance(self, newest: Version, ancestry: Ancestry = NO_ANCESTRY) -> int:
        """Removes nothing: the age of rows of a queue is checked where they are learned from."""
        return 0

    def stats(self) -> SupplyStats:
        """Returns what it did."""
        counts = self._fifo.counts
        return SupplyStats(counts.inserted, counts.popped, counts.dropped, len(self._fifo))

    def _needed(self, rows: Rows) -> Rows:
        """Returns the first trajectories of the newest version that it lacks; all others are dropped.

        Those of older versions are dropped in the queue too.
        """
        # A trajectory is of one version alone.
        versions = np.left_shift(rows["generation"].astype(np.int64), 32) + rows["version"].astype(np.int64)
        if not len(versions):
            return rows
        highest = int(versions.max())
        newest = Version(highest >> 32, highest & 0xFFFFFFFF)
        if newest > self._newest:
            self._fifo.clear()
            self._newest, self._of_newest = newest, 0
            self._batches_left = self._keep_rows // self._batch_rows
        wanted = versions == ((self._newest.generation << 32) + self._newest.number)
        wanted &= self._of_newest + _rows_before(rows["kind"], wanted) < self._keep_rows
        taken = int(wanted.sum())
        self._of_newest += taken
        if taken == len(wanted):
            return rows
        self._fifo.counts.inserted += len(wanted) - taken
        self._fifo.counts.dropped += len(wanted) - taken
        needed: Rows = {name: column[wanted] for name, column in rows.items()}
        return needed


def _rows_before(kind: NDArray[np.generic], counted: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Returns how many counted rows come before the trajectory of each row, [N]."""
    ends = np.flatnonzero(kind != RowKind.STEP)
    trajectory = np.searchsorted(ends, np.arange(len(kind)))
    starts = np.concatenate([np.zeros(1, np.int64), ends[:-1] + 1])
    before: NDArray[np.int64] = (np.cumsum(counted) - counted)[starts[trajectory]]
    return before


def _whole_rows(rows: Rows, room: int) -> int:
    """Returns the rows of the first trajectories that fit whole."""
    ends = np.flatnonzero(rows["kind"] != RowKind.STEP) + 1
    fitting = ends[ends <= room]
    return int(fitting[-1]) if len(fitting) else 0
