"""Where trajectories that stand one behind another begin and end."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.replay.rows import count
from app.types import RowKind, Rows

STATE_PARTS: Final = ("observation", "action_mask", "state")
"""Parts of a row that describe a state, not what was done in it."""


def part_of(column: str) -> str:
    """Returns the part of a row that a column belongs to: ``observation`` for ``observation/units``."""
    return column.partition("/")[0]


def last_rows(rows: Rows) -> NDArray[np.intp]:
    """Returns for each row where the bootstrap row of its trajectory stands, [N]; itself for a bootstrap row.

    Raises:
      ValueError: The columns differ in length, or the last row is a step.
    """
    size = count(rows)
    if size and rows["kind"][-1] == RowKind.STEP:
        raise ValueError("items need a bootstrap row behind each trajectory; the last row is a step")
    ends = np.flatnonzero(rows["kind"] != RowKind.STEP)
    last: NDArray[np.intp] = ends[np.searchsorted(ends, np.arange(size))]
    return last
