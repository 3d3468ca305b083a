"""Rows that a table hands out, and their names."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.types import Rows


@dataclass(frozen=True, slots=True)
class Keys:
    """Names rows of a table for ever: once a row has left, its key names nothing, whatever its slot holds."""

    slots: NDArray[np.intp]
    """Where each row stood, [N]."""
    numbers: NDArray[np.int64]
    """Number of the insert of each row, counted over the table's life, [N]."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Rows of a table, in the order in which they were drawn; copies."""

    rows: Rows
    keys: Keys
    probabilities: NDArray[np.float64]
    """Chance of each row in one draw, [N]."""
    table_rows: int
    """Rows that the table held at the draw."""
