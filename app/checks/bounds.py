"""Checks that look at each value by itself."""

import numpy as np

from app.checks.fault import Fault, Flags, Values, fault_at


class Finite:
    """Finds NaN and infinity; see ``FieldChecker``."""

    def look(self, values: Values, starts: Flags) -> Fault | None:
        """Returns the first value that is not finite."""
        finite = np.isfinite(values)
        return None if finite.all() else fault_at(~finite, values, "finite numbers")


class Range:
    """Finds values outside of bounds, NaN among them; see ``FieldChecker``."""

    def __init__(self, low: float | None, high: float | None) -> None:
        """Keeps the bounds; None allows any value on that side."""
        self._low, self._high = low, high

    def look(self, values: Values, starts: Flags) -> Fault | None:
        """Returns the first value outside."""
        inside = np.ones(values.shape, np.bool_)
        if self._low is not None:
            inside &= np.greater_equal(values, self._low)
        if self._high is not None:
            inside &= np.less_equal(values, self._high)
        return None if inside.all() else fault_at(~inside, values, bounds_text(self._low, self._high))


def bounds_text(low: float | None, high: float | None) -> str:
    """Returns bounds as a message tells them."""
    if low is None:
        return f"at most {high:g}"
    return f"at least {low:g}" if high is None else f"{low:g} to {high:g}"
