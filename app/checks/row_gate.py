"""Lets rows pass to where they are learned from, and takes out what its checks find wrong."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from app.checks.alarm import Alarm
from app.checks.cutting import real_rows, without
from app.checks.fault import Fault, Flags
from app.checks.making import RowCheck
from app.types import RowKind, Rows

CHECKS: Final = "checks_"
"""Begins the name of the counter of what a check found."""
DROPPED: Final = "rows_dropped_check_"
"""Begins the name of the counter of the rows that a check dropped."""
CUT: Final = "rows_dropped_check_cut"
"""Counts steps that are lost beside dropped ones: the state that they led to is of no use."""


def no_session(episode: int) -> str | None:
    """Knows no session."""
    return None


@dataclass(frozen=True, slots=True)
class Place:
    """Whose rows they are."""

    model: str
    source: str
    """Replica or trainer that looks."""
    session_of: Callable[[int], str | None] = no_session
    """Returns the session of an episode's number; None where it is not known any more."""


@dataclass(slots=True)
class _Spoilt:
    states: Flags
    steps: Flags
    dropped: Counter[str] = field(default_factory=Counter)


class RowGate:
    """Looks at all rows of one model that pass one place, in their order."""

    def __init__(
        self, checks: Sequence[RowCheck], place: Place, counts: Counter[str], tell: Callable[[Alarm], None]
    ) -> None:
        """Keeps the checks, which see no rows but these.

        Args:
          checks: What is looked at.
          place: Whose rows they are.
          counts: Where findings and dropped rows are counted.
          tell: Takes alarms; must not wait.
        """
        self._checks, self._place, self._counts, self._tell = tuple(checks), place, counts, tell

    def passed(self, rows: Rows) -> Rows:
        """Returns the rows to learn from: the same ones where no check drops any, else trajectories with holes.

        Args:
          rows: Trajectories one behind another, each with its bootstrap row; they are not changed.
        """
        spoilt = self._spoilt(rows)
        if not (spoilt.states.any() or spoilt.steps.any()):
            return rows
        left = without(rows, spoilt.states, spoilt.steps)
        lost = int((rows["kind"] == RowKind.STEP).sum()) - int((left["kind"] == RowKind.STEP).sum())
        self._counts.update(spoilt.dropped)
        self._counts[CUT] += lost - spoilt.dropped.total()
        return left

    def look(self, rows: Rows) -> None:
        """Counts and tells what is wrong with rows that nobody learns from now; none is dropped."""
        self._spoilt(rows)

    def _spoilt(self, rows: Rows) -> _Spoilt:
        size = len(rows["kind"])
        spoilt = _Spoilt(np.zeros(size, np.bool_), np.zeros(size, np.bool_))
        if not size or not self._checks:
            return spoilt
        step: Flags = rows["kind"] == RowKind.STEP
        real = real_rows(rows["kind"])
        for check in self._checks:
            self._look(check, rows, real if check.field.of_state else step, spoilt)
        return spoilt

    def _look(self, check: RowCheck, rows: Rows, seen: Flags, spoilt: _Spoilt) -> None:
        """Looks at one field of the rows that are seen, and notes which are spoilt."""
        at = np.flatnonzero(seen)
        if not len(at):
            return
        values = check.field.values(rows)
        starts = np.concatenate([[True], rows["kind"][:-1] != RowKind.STEP])
        whole = len(at) == len(seen)
        fault = check.checker.look(values if whole else values[at], starts if whole else starts[at])
        if fault is None:
            return
        self._counts[f"{CHECKS}{check.name}"] += fault.times
        if check.action == "drop" and fault.rows is not None:
            wrong = at[fault.rows]
            is_step = rows["kind"][wrong] == RowKind.STEP
            known = spoilt.states[wrong] | spoilt.steps[wrong]
            spoilt.dropped[f"{DROPPED}{check.name}"] += int((is_step & ~known).sum())
            (spoilt.states if check.field.of_state else spoilt.steps)[wrong] = True
        if check.action != "count":
            self._tell(self._alarm(check, rows, int(at[fault.row]), fault))

    def _alarm(self, check: RowCheck, rows: Rows, row: int, fault: Fault) -> Alarm:
        now_s = time.time()
        return Alarm(
            check=check.name,
            kind=check.kind,
            action=check.action,
            model=self._place.model,
            source=self._place.source,
            field=check.field.name,
            value=fault.value,
            allowed=fault.allowed,
            time_s=now_s,
            first_s=now_s,
            times=fault.times,
            element=fault.element if check.field.elements > 1 else None,
            session=self._place.session_of(int(rows["episode"][row])),
            tick=int(rows["tick"][row]),
            record=check.record,
        )
