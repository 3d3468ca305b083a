"""What a check finds wrong with one field."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.generic]
"""One field of consecutive rows, [rows, elements]."""
Flags = NDArray[np.bool_]
"""One for each row, [rows]."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Something wrong, with an example."""

    row: int
    """Row of the example."""
    element: int
    """Number of the field that is the example; 0 where it has but one."""
    value: float
    """The example, or what a window came to."""
    allowed: str
    """What would have been right."""
    rows: Flags | None = None
    """Which rows are wrong; None where they are wrong together."""

    @property
    def times(self) -> int:
        """Returns how many rows are wrong; 1 where they are wrong together."""
        return 1 if self.rows is None else int(self.rows.sum())


class FieldChecker(Protocol):
    """Looks at one field of all rows, in their order."""

    def look(self, values: Values, starts: Flags) -> Fault | None:
        """Returns what is wrong with these rows; None where nothing is.

        Args:
          values: [rows, elements], at least one row.
          starts: Whether a row follows on none of the rows before it, [rows].
        """


def fault_at(wrong: Flags, values: Values, allowed: str) -> Fault | None:
    """Returns the fault of the values that are flagged, [rows, elements]; None where none is."""
    rows: Flags = np.asarray(wrong.any(axis=1))
    if not rows.any():
        return None
    row = int(rows.argmax())
    element = int(wrong[row].argmax())
    return Fault(row, element, float(values[row, element]), allowed, rows)
