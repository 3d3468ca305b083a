"""What a table asks of its limiter, and what the limiter knows of the table."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Counts:
    """Where a table stands, in rows."""

    inserted: int
    sampled: int
    held: int


@dataclass(frozen=True, slots=True)
class TableShape:
    """What of a table decides whether it could wait for ever."""

    holdable_rows: int
    """Most rows that it ever holds: its capacity, or fewer where rows leave by age in inserts."""
    largest_sample_rows: int
    distinct: bool
    """Whether a sample of n rows needs n rows held."""
    max_reuse: int | None


class Limiter(Protocol):
    """Decides from counts alone: a restored table goes on where it stood."""

    def insertable_rows(self, counts: Counts) -> int:
        """Returns how many rows may be inserted now."""
        ...

    def can_sample(self, counts: Counts, rows: int) -> bool:
        """Returns whether ``rows`` rows may be sampled now, all at once."""
        ...

    def check(self, shape: TableShape) -> None:
        """Raises ValueError where such a table could refuse both an insert and its largest sample for ever."""
        ...
