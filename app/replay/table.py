"""Rows kept to be sampled again: capacity, sampler, remover and limiter (Reverb, Cassirer et al., 2021)."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.replay.ancestry import NO_ANCESTRY, Ancestry
from app.replay.contents import Contents
from app.replay.limiter import Counts, Limiter, TableShape
from app.replay.max_age import VERSION_COLUMNS, MaxAge
from app.replay.rows import Columns
from app.replay.sample import Keys, Sample
from app.replay.selectors import Remover, Sampler
from app.replay.table_stats import Removal, TableStats
from app.types import Arrays, Rows, Version

FIRST_PRIORITY: Final = 1.0
"""Priority of rows that come without one while none is known; later it is the highest known."""


class Table:
    """Keeps items, each one row of every column: transitions, or whole sequences.

    Invariant: inserted = held + removed, each removed row counted under one reason.

    At any time an insert of one row, or a sample of up to ``largest_sample_rows``, is possible: the constructor
    refuses a table in which both could wait for ever. The table belongs to one thread.
    """

    def __init__(
        self,
        columns: Columns,
        capacity_rows: int,
        *,
        sampler: Sampler,
        remover: Remover,
        limiter: Limiter,
        largest_sample_rows: int,
        rng: np.random.Generator,
        max_reuse: int | None = None,
        max_age: MaxAge | None = None,
    ) -> None:
        """Makes an empty table.

        Args:
          columns: Dtype and shape of one item in each column.
          capacity_rows: Most items held.
          sampler: Chooses the items of a batch; belongs to this table alone.
          remover: Chooses what makes room when the table is full; belongs to this table alone.
          limiter: Decides how many items may be inserted and sampled.
          largest_sample_rows: Most items that one sample asks for.
          rng: Draws for sampler and remover.
          max_reuse: An item leaves after so many samples; None keeps it.
          max_age: When an item is too old; None never.

        Raises:
          ValueError: A number is below 1, the columns lack what ``max_age`` needs, or the limiter refuses the table.
        """
        check_table(capacity_rows, sampler, limiter, largest_sample_rows, max_reuse, max_age)
        if max_age is not None and max_age.versions is not None and not columns.keys() >= set(VERSION_COLUMNS):
            raise ValueError(f"max age in versions needs the columns {VERSION_COLUMNS}, got {sorted(columns)}")
        self._needs_distinct = sampler.distinct or max_reuse is not None
        self._contents = Contents(columns, capacity_rows, sampler, remover, rng, max_reuse, max_age)
        self._limiter, self._largest = limiter, largest_sample_rows
        self._sampled = self._updates_ignored = 0
        self._highest: float | None = None

    def __len__(self) -> int:
        return len(self._contents.held)

    def insertable_rows(self) -> int:
        """Returns how many rows an insert would take now."""
        return self._limiter.insertable_rows(self._counts())

    def can_sample(self, rows: int) -> bool:
        """Returns whether a sample of so many rows would be answered now."""
        needed = rows if self._needs_distinct else 1
        return len(self) >= needed and self._limiter.can_sample(self._counts(), rows)

    def insert(self, rows: Rows, priorities: NDArray[np.float64] | None = None) -> int:
        """Takes the first of these rows that the limiter allows, and returns how many; the others have to wait.

        Args:
          rows: The table's columns, [N, ...].
          priorities: Of each row, [N]; None gives them the highest known, so that they are soon sampled.

        Raises:
          ValueError: The columns are not the table's, or a priority is negative or not finite.
        """
        count = self._contents.storage.check(rows)
        taken = min(count, self.insertable_rows())
        if priorities is not None:
            _check(priorities, count)
            given = priorities[:taken]
            self._note_highest(given)
        else:
            given = np.full(taken, FIRST_PRIORITY if self._highest is None else self._highest)
        capacity = self._contents.held.capacity_rows
        for start in range(0, taken, capacity):
            part = slice(start, min(start + capacity, taken))
            self._contents.add({name: column[part] for name, column in rows.items()}, given[part])
        return taken

    def sample(self, rows: int) -> Sample | None:
        """Returns exactly ``rows`` rows; None while the limiter does not allow it.

        Raises:
          ValueError: ``rows`` is not between 1 and ``largest_sample_rows``.
        """
        if not 1 <= rows <= self._largest:
            raise ValueError(f"a sample of this table has 1 to {self._largest} rows, got {rows}")
        if not self.can_sample(rows):
            return None
        table_rows = len(self)
        draw, keys = self._contents.draw(rows)
        self._sampled += rows
        return Sample(self._contents.storage.gather(draw.slots), keys, draw.probabilities, table_rows)

    def update(self, keys: Keys, priorities: NDArray[np.float64]) -> int:
        """Gives rows new priorities; returns how many keys were ignored because their rows had left.

        Args:
          keys: Of rows that were sampled, [N].
          priorities: Their new priorities, [N]; where a row is named twice, the last one counts.

        Raises:
          ValueError: A priority is negative or not finite, or there are not as many as keys.
        """
        _check(priorities, len(keys.slots))
        held = self._contents.has(keys)
        self._note_highest(priorities[held])
        self._contents.prioritize(keys.slots[held], priorities[held])
        ignored = int((~held).sum())
        self._updates_ignored += ignored
        return ignored

    def delete(self, keys: Keys) -> int:
        """Removes rows; returns how many were still held."""
        slots = np.unique(keys.slots[self._contents.has(keys)])
        self._contents.remove(slots, Removal.DELETED)
        return len(slots)

    def advance(self, newest: Version, ancestry: Ancestry = NO_ANCESTRY) -> int:
        """Notes the newest version; returns how many rows left because it made them too old.

        Args:
          newest: Newest published version.
          ancestry: What its generation went on from.
        """
        return self._contents.advance(newest, ancestry)

    def rows(self) -> Rows:
        """Returns all rows that are held, the oldest first; copies."""
        return self._contents.storage.gather(self._contents.held.oldest(len(self)))

    def stats(self) -> TableStats:
        """Returns what the table did."""
        inserted = self._contents.held.inserted
        return TableStats(
            inserted=inserted,
            sampled=self._sampled,
            held=len(self),
            removed=dict(self._contents.removed),
            updates_ignored=self._updates_ignored,
            samples_per_insert=self._sampled / inserted if inserted else float("nan"),
            mean_age_inserts=self._contents.held.mean_age_inserts(),
        )

    def state_dict(self) -> Arrays:
        """Returns all that what comes depends on, as arrays of its own; the generator is the caller's to save."""
        highest = {} if self._highest is None else {"highest": np.array(self._highest)}
        counts = {"handed_out": np.array(self._sampled), "updates_ignored": np.array(self._updates_ignored)}
        return self._contents.state_dict() | counts | highest

    def load_state_dict(self, state: Arrays) -> None:
        """Takes over another table in place of its own rows and counts; keys of its samples stay good.

        Raises:
          CheckpointError: The other table has another capacity or other columns.
        """
        self._contents.load_state_dict(state)
        self._sampled, self._updates_ignored = int(state["handed_out"]), int(state["updates_ignored"])
        self._highest = float(state["highest"]) if "highest" in state else None

    def _counts(self) -> Counts:
        return Counts(self._contents.held.inserted, self._sampled, len(self))

    def _note_highest(self, priorities: NDArray[np.float64]) -> None:
        if len(priorities):
            self._highest = max(float(priorities.max()), self._highest or 0.0)


def check_table(
    capacity_rows: int,
    sampler: Sampler,
    limiter: Limiter,
    largest_sample_rows: int,
    max_reuse: int | None = None,
    max_age: MaxAge | None = None,
) -> None:
    """Checks what a table would be made of, without making it.

    Raises:
      ValueError: A number is below 1, or the limiter refuses such a table.
    """
    if largest_sample_rows < 1 or (max_reuse is not None and max_reuse < 1):
        raise ValueError(
            f"a table needs largest_sample_rows >= 1 and max_reuse >= 1, got {largest_sample_rows} and {max_reuse}"
        )
    holdable_rows = capacity_rows if max_age is None else max_age.holdable_rows(capacity_rows)
    distinct = sampler.distinct or max_reuse is not None
    limiter.check(TableShape(holdable_rows, largest_sample_rows, distinct, max_reuse))


def _check(priorities: NDArray[np.float64], rows: int) -> None:
    """Checks priorities.

    Raises:
      ValueError: One is negative or not finite, or there are not as many as rows.
    """
    if priorities.shape != (rows,) or not bool(np.all((priorities >= 0) & (priorities < np.inf))):
        raise ValueError(f"a table needs a finite priority >= 0 for each of {rows} rows, got {priorities}")
