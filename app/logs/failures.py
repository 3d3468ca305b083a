"""What becomes known of our own bugs: a step that fails may fail at the rate of ticks."""

import logging
from collections import Counter
from typing import Final

KINDS_MAX: Final = 100
"""Kinds of failures that are logged; more of them are counted only."""

_log = logging.getLogger(__name__)


class Failures:
    """Logs the first failure of a kind, which is its exception's type and place, with its traceback; counts all."""

    def __init__(self, counts: Counter[str], counted_as: str = "requests_failed") -> None:
        """Knows no failure yet.

        Args:
          counts: Where they are counted.
          counted_as: Under which name, all together.
        """
        self._counts, self._counted_as = counts, counted_as
        self._told: set[tuple[str, str, int]] = set()

    def tell(self, error: Exception, what: str) -> None:
        """Counts a failure, and logs it with ``what`` failed where it is the first of its kind."""
        self._counts[self._counted_as] += 1
        kind = _kind(error)
        if kind in self._told or len(self._told) >= KINDS_MAX:
            return
        self._told.add(kind)
        _log.error("%s; others of this kind are counted as %s", what, self._counted_as, exc_info=error)


def _kind(error: Exception) -> tuple[str, str, int]:
    """Returns the type of an exception and where it was raised."""
    trace = error.__traceback__
    if trace is None:
        return type(error).__qualname__, "", 0
    while trace.tb_next is not None:
        trace = trace.tb_next
    return type(error).__qualname__, trace.tb_frame.f_code.co_filename, trace.tb_lineno
