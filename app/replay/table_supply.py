"""Batches of items that a table keeps, sampled again and again."""

import json
from collections.abc import Callable
from typing import Final, cast

import numpy as np
from numpy.typing import NDArray

from app.errors import CheckpointError
from app.replay.ancestry import NO_ANCESTRY, Ancestry
from app.replay.importance import importance_weights
from app.replay.rows import Columns, count
from app.replay.sample import Keys, Sample
from app.replay.supply import Parts, SupplyStats, WhenFull, joined
from app.replay.table import Table
from app.types import Arrays, Rows, Version

WAITING: Final = "waiting/"
"""What the names of columns begin with that wait in a saved table."""
SAMPLE_COLUMNS: Final[Columns] = {
    "key_shard": (np.dtype(np.int64), ()),
    "key_slot": (np.dtype(np.int64), ()),
    "key_number": (np.dtype(np.int64), ()),
    "probability": (np.dtype(np.float32), ()),
}
"""Columns of a batch beside the item's own: its key, and its chance in one draw."""


class TableSupply:
    """Cuts trajectories into items at the push, and samples batches of ``batch_items``.

    ``weight`` of an item is multiplied by its importance where ``beta`` is given. Items that the table's limiter does
    not let in wait: at most those of one push, and what comes meanwhile is dropped or refused.
    """

    def __init__(
        self,
        table: Table,
        cut: Callable[[Rows], Rows],
        batch_items: int,
        *,
        rng: np.random.Generator,
        when_full: WhenFull,
        beta: float | None = None,
        shard: int = 0,
    ) -> None:
        """Makes a supply.

        Args:
          table: An empty table of the items.
          cut: Makes items of trajectories.
          batch_items: Items of a batch.
          rng: The table's generator, saved with it.
          when_full: What becomes of a push while another one waits.
          beta: How much of the bias of prioritized sampling the weights undo; None leaves them alone.
          shard: Number that its keys carry.
        """
        self._table, self._cut, self._batch_items, self._rng = table, cut, batch_items, rng
        self._when_full, self._beta, self._shard = when_full, beta, shard
        self._waiting: Rows | None = None
        self._dropped = 0
        self._newest: tuple[Version, Ancestry] | None = None
        """What was told of versions last."""

    def insert(self, rows: Rows) -> bool:
        """Takes trajectories, or refuses all of them while those of another push wait.

        Raises:
          ValueError: The columns are not the table's, or the last row is a step.
        """
        if self._waiting is not None and self._when_full is WhenFull.REFUSE:
            return False
        items = self._cut(rows)
        if self._waiting is None:
            self._admit(items)
        elif self._when_full is WhenFull.DROP_NEWEST:
            self._dropped += count(items)
        else:
            self._dropped += count(self._waiting)
            self._admit(items)
        return True

    def batches(self, limit: int) -> int:
        """Returns how many batches could be sampled now, up to ``limit``."""
        could = (batches for batches in range(limit, 0, -1) if self._table.can_sample(batches * self._batch_items))
        return next(could, 0)

    def draw(self) -> Parts | None:
        """Returns a sample with its keys; None while the limiter does not allow one."""
        sample = self._table.sample(self._batch_items)
        if sample is None:
            return None
        self._admit_waiting()
        return [self._columns(sample)]

    def update_priorities(self, keys: Keys, priorities: NDArray[np.float64]) -> int:
        """Gives items new priorities; returns how many were ignored because the items had left.

        Raises:
          ValueError: A priority is negative or not finite.
        """
        return self._table.update(keys, priorities)

    def advance(self, newest: Version, ancestry: Ancestry = NO_ANCESTRY) -> int:
        """Notes the newest version; returns how many items left because it made them too old."""
        self._newest = newest, ancestry
        removed = self._table.advance(newest, ancestry)
        self._admit_waiting()
        return removed

    def stats(self) -> SupplyStats:
        """Returns what it did, in items."""
        found = self._table.stats()
        waiting = 0 if self._waiting is None else count(self._waiting)
        inserted = found.inserted + self._dropped + waiting
        return SupplyStats(inserted, found.sampled, self._dropped, found.held, waiting, found)

    def state_dict(self) -> Arrays:
        """Returns the table, its generator, and what waits."""
        waiting = {} if self._waiting is None else {WAITING + name: c.copy() for name, c in self._waiting.items()}
        generator = json.dumps(self._rng.bit_generator.state).encode()
        own = {"generator": np.frombuffer(generator, np.uint8), "dropped": np.array(self._dropped)}
        return self._table.state_dict() | waiting | own

    def load_state_dict(self, state: Arrays) -> None:
        """Takes over another table, and draws what it would have drawn.

        Raises:
          CheckpointError: The other table has another capacity or other columns.
        """
        self._table.load_state_dict(state)
        self._rng.bit_generator.state = json.loads(state["generator"].tobytes())
        self._dropped = int(state["dropped"])
        waiting = {name.removeprefix(WAITING): c for name, c in state.items() if name.startswith(WAITING)}
        self._waiting = waiting or None

    def take_over(self, state: Arrays) -> int:
        """Takes over another table, and returns its items; those that came here before follow behind them.

        What the limiter does not let in waits, however much it is.

        Raises:
          CheckpointError: The other table has another capacity or other columns, or items were sampled here already.
        """
        before = self.stats()
        if before.popped:
            raise CheckpointError(f"a table of which {before.popped} items were sampled takes over no other")
        came = [self._table.rows(), *([] if self._waiting is None else [self._waiting])]
        self.load_state_dict(state)
        self._dropped += before.dropped
        found = len(self._table)
        if self._newest is not None:
            self._table.advance(*self._newest)
        waiting = [] if self._waiting is None else [self._waiting]
        self._admit(joined([*waiting, *came]))
        return found

    def _admit(self, items: Rows) -> None:
        """Inserts what the limiter allows; the others wait."""
        taken, size = self._table.insert(items), count(items)
        self._waiting = None if taken == size else {name: column[taken:] for name, column in items.items()}

    def _admit_waiting(self) -> None:
        if self._waiting is not None and self._table.insertable_rows() > 0:
            self._admit(self._waiting)

    def _columns(self, sample: Sample) -> Rows:
        rows, items = sample.rows, len(sample.probabilities)
        if self._beta is not None:
            importance = importance_weights(sample.probabilities, sample.table_rows, self._beta)
            weight = cast("NDArray[np.float32]", rows["weight"])
            rows["weight"] = weight * importance.reshape(items, *[1] * (weight.ndim - 1))
        return rows | {
            "key_shard": np.full(items, self._shard, np.int64),
            "key_slot": sample.keys.slots.astype(np.int64),
            "key_number": sample.keys.numbers,
            "probability": sample.probabilities.astype(np.float32),
        }
