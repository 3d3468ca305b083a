"""What a shard asks of whatever holds its rows: a queue or a table."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from app.replay.ancestry import NO_ANCESTRY, Ancestry
from app.replay.rows import Columns
from app.replay.sample import Keys
from app.replay.table_stats import TableStats
from app.replay.trajectories import part_of
from app.types import RowKind, Rows, Version

Parts = list[Rows]
"""Rows that follow each other, as pieces with the same columns: views that are joined where they are needed."""
MASKS: Final = ("action_mask", "next_action_mask")
"""Parts of a row that are 1 where a choice was allowed."""


class WhenFull(StrEnum):
    """What becomes of a push that does not fit."""

    DROP_OLDEST = "drop_oldest"
    DROP_NEWEST = "drop_newest"
    REFUSE = "refuse"
    """It is not taken; whoever sent it keeps it and tries again."""


@dataclass(frozen=True, slots=True)
class SupplyStats:
    """Rows of a queue, or items of a table, since the start: inserted = popped + dropped + held for a queue."""

    inserted: int
    popped: int
    """Rows handed out; items of a table as often as they were."""
    dropped: int
    """Rows that were lost because there was no room for them."""
    held: int
    waiting: int = 0
    """Items that the table's limiter does not let in yet."""
    table: TableStats | None = None
    """What a table did."""


class Supply(Protocol):
    """Takes trajectories and hands out batches of an exact size; belongs to one thread."""

    def insert(self, rows: Rows) -> bool:
        """Takes trajectories, each ending in its bootstrap row; returns False where it refuses them.

        Raises:
          ValueError: The columns differ in length, or the last row is a step.
        """
        ...

    def batches(self, limit: int) -> int:
        """Returns how many batches could be drawn now, up to ``limit``."""
        ...

    def draw(self) -> Parts | None:
        """Returns a batch in pieces; None while there is none."""
        ...

    def update_priorities(self, keys: Keys, priorities: NDArray[np.float64]) -> int:
        """Gives items new priorities, [N]; returns how many were ignored, because they had left or have none."""
        ...

    def advance(self, newest: Version, ancestry: Ancestry = NO_ANCESTRY) -> int:
        """Notes the newest version; returns how many items left because it made them too old.

        Args:
          newest: Newest published version.
          ancestry: What its generation went on from.
        """
        ...

    def stats(self) -> SupplyStats:
        """Returns what it did."""
        ...


def joined(parts: Parts) -> Rows:
    """Returns pieces as one; a single piece is returned as it is."""
    if len(parts) == 1:
        return parts[0]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def padding(columns: Columns, rows: int) -> Rows:
    """Returns rows of weight 0: nothing to learn from, and every choice allowed."""
    batch = {name: np.zeros((rows, *shape), dtype) for name, (dtype, shape) in columns.items()}
    for name, column in batch.items():
        if part_of(name) in MASKS:
            column[:] = 1
        elif name == "kind":
            column[:] = RowKind.LOST
        elif name == "key_number":
            column[:] = -1
    return batch
