"""Whole sequences for recurrent learning, with overlap and burn-in (Kapturowski et al., 2019, R2D2)."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.replay.rows import Columns
from app.replay.trajectories import last_rows, part_of
from app.types import RowKind, Rows

STATE: Final = "state"
"""The part of a row that a sequence keeps of its first row alone."""


@dataclass(frozen=True, slots=True)
class Sequences:
    """How trajectories are cut into sequences of one length.

    A sequence ends in a bootstrap row, like a trajectory: its own end, or the step at the cut turned into one, which
    therefore opens what the next sequence learns from. So T rows hold at most T - 1 steps, and every step is learned
    from at least once where ``burn_in_rows`` < ``overlap_rows``; exactly once where they differ by 1, but for the
    burn-in of a trajectory's first sequence.
    """

    rows: int
    """T: length of a sequence; what a short one lacks is padded."""
    overlap_rows: int
    """Rows that a sequence shares with the one before it in its trajectory."""
    burn_in_rows: int
    """First rows of a sequence, which only bring the recurrent state up to date: their weight is 0."""
    burn_in_at_start: bool
    """Whether the first sequence of an episode (tick 0) has a burn-in too. Its state is the initial one and needs none;
    with a burn-in there, the first steps of a game are never learned from."""

    def __post_init__(self) -> None:
        if not 0 <= self.burn_in_rows < self.overlap_rows < self.rows:
            raise ValueError(
                "sequences need 0 <= burn_in_rows < overlap_rows < rows, or steps would never be learned from; "
                f"got {self.burn_in_rows}, {self.overlap_rows} and {self.rows}"
            )

    def columns(self, columns: Columns) -> Columns:
        """Returns the columns of sequences made of rows with these columns."""
        return {
            name: (dtype, shape if part_of(name) == STATE else (self.rows, *shape))
            for name, (dtype, shape) in columns.items()
        }

    def cut(self, rows: Rows) -> Rows:
        """Returns sequences, [K, T, …], in the order of the rows; ``state`` is that before the first row, [K, …].

        Padding repeats the trajectory's bootstrap row, with weight 0 and kind lost.

        Args:
          rows: Whole trajectories, each ending in its bootstrap row, [N].

        Raises:
          ValueError: The columns differ in length, or the last row is a step.
        """
        last = last_rows(rows)
        first = self._first_rows(rows)
        wanted = first[:, None] + np.arange(self.rows)
        at = np.minimum(wanted, last[first][:, None])
        cut = {name: column[first if part_of(name) == STATE else at] for name, column in rows.items()}
        padded = wanted > at
        cut["kind"][padded] = RowKind.LOST
        ends_in_step = cut["kind"][:, -1] == RowKind.STEP
        cut["kind"][ends_in_step, -1] = RowKind.FULL
        burn_in = np.broadcast_to(np.arange(self.rows) < self.burn_in_rows, at.shape)
        if not self.burn_in_at_start:
            burn_in = burn_in & (rows["tick"][first] != 0)[:, None]
        cut["weight"][burn_in | padded] = 0
        cut["weight"][ends_in_step, -1] = 0
        return cut

    def _first_rows(self, rows: Rows) -> NDArray[np.intp]:
        """Returns where each sequence begins: every ``rows - overlap_rows`` rows until the bootstrap row is in, [K]."""
        ends = np.flatnonzero(rows["kind"] != RowKind.STEP)
        starts = np.concatenate([np.zeros(min(len(ends), 1), ends.dtype), ends[:-1] + 1])
        stride = self.rows - self.overlap_rows
        # A trajectory without a step is no sequence; a longer one needs stride·(k - 1) + rows >= its length.
        sizes = ends - starts + 1
        counts = np.where(sizes > 1, 1 + np.maximum(0, -(-(sizes - self.rows) // stride)), 0)
        number = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
        first: NDArray[np.intp] = np.repeat(starts, counts) + number * stride
        return first
