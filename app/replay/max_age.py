"""When a row is too old to learn from."""

from dataclasses import dataclass
from typing import Final, cast

import numpy as np
from numpy.typing import NDArray

from app.replay.ancestry import Ancestry
from app.replay.held import Held
from app.replay.storage import Storage
from app.types import Version

FIRST_LOOK_ROWS: Final = 64
"""Oldest rows that are looked at first; twice as many while all of them are too old."""
VERSION_COLUMNS: Final = ("generation", "version")


@dataclass(frozen=True, slots=True)
class MaxAge:
    """Rows older than this are never sampled: they leave the table."""

    inserts: int | None = None
    """Rows that may come after a row; None does not look at it."""
    versions: int | None = None
    """Published versions between the policy that acted and the newest; None does not look at it. A row of an earlier
    generation is as old as its ``Ancestry`` says, or too old. The table needs the columns ``generation`` and
    ``version``; an item of several rows is as old as its first."""

    def __post_init__(self) -> None:
        if self.inserts is None and self.versions is None:
            raise ValueError("max age needs inserts or versions, got neither")
        if (self.inserts is not None and self.inserts < 1) or (self.versions is not None and self.versions < 0):
            raise ValueError(f"max age needs inserts >= 1 and versions >= 0, got {self.inserts} and {self.versions}")

    def holdable_rows(self, capacity_rows: int) -> int:
        """Returns the most rows that a table of this capacity ever holds."""
        return capacity_rows if self.inserts is None else min(capacity_rows, self.inserts + 1)

    def by_inserts(self, held: Held) -> NDArray[np.intp]:
        """Returns the slots of the rows that more than ``inserts`` rows came after, oldest first, [N]."""
        count = 0 if self.inserts is None else FIRST_LOOK_ROWS
        first_young = held.inserted - 1 - (self.inserts or 0)
        while True:
            oldest = held.oldest(count)
            old = oldest[held.numbers[oldest] < first_young]
            if len(old) < count or count == 0:
                return old
            count *= 2

    def by_versions(
        self, storage: Storage, slots: NDArray[np.intp], newest: Version, ancestry: Ancestry
    ) -> NDArray[np.intp]:
        """Returns those of the slots whose rows were acted more than ``versions`` before the newest, [N]."""
        if self.versions is None:
            return slots[:0]
        generation, number = (_of_first_row(storage.column(name))[slots] for name in VERSION_COLUMNS)
        old: NDArray[np.intp] = slots[ancestry.ages(generation, number, newest) > self.versions]
        return old


def _of_first_row(column: NDArray[np.generic]) -> NDArray[np.integer]:
    """Returns one number an item, [capacity]: of a sequence, that of its first row."""
    return cast("NDArray[np.integer]", column if column.ndim == 1 else column[:, 0])
