"""Numbers that agents report by name, as count, sum, smallest and largest value."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

NAMES_MAX: Final = 256
"""Names that are kept: far more than a person reads, and few enough for Prometheus."""
NAME_CHARACTERS_MAX: Final = 200
"""Longest name."""


@dataclass(slots=True)
class Measure:
    """What was reported under one name."""

    count: int = 0
    sum: float = 0.0
    min: float | None = None
    """None before the first value."""
    max: float | None = None
    """None before the first value."""
    not_finite: int = 0
    """Values that were infinite or NaN, or with which the sum would be; they are counted here alone."""

    def add(self, value: float) -> bool:
        """Takes a value; returns whether it is finite."""
        return self.merge(Measure(1, value, value, value))

    def merge(self, other: "Measure") -> bool:
        """Takes what somebody else has added up; returns whether the sum of both is finite."""
        self.not_finite += other.not_finite
        if other.min is None or other.max is None:
            return True
        total = self.sum + other.sum
        if not math.isfinite(total):
            self.not_finite += other.count
            return False
        self.min = other.min if self.min is None else min(self.min, other.min)
        self.max = other.max if self.max is None else max(self.max, other.max)
        self.count += other.count
        self.sum = total
        return True

    def as_dict(self) -> dict[str, Any]:
        """Returns the measure as a JSON object."""
        return asdict(self)


class Measures:
    """The measures of one replica, or of several together; at most ``NAMES_MAX`` names."""

    def __init__(self) -> None:
        self.dropped = 0
        """Values whose name was one too many, or too long."""
        self._by_name: dict[str, Measure] = {}

    def add(self, name: str, value: float) -> str | None:
        """Takes a value; returns what is wrong with it where that is so for the first time under this name.

        Args:
          name: What is measured.
          value: How much; one that is infinite or NaN is counted as such and changes neither sum nor bounds.
        """
        measure = self._of(name)
        if measure is None:
            self.dropped += 1
            if self.dropped > 1:
                return None
            return (
                f"measure {name[:NAME_CHARACTERS_MAX]!r} is dropped: allowed are {NAMES_MAX} names of at most "
                f"{NAME_CHARACTERS_MAX} characters"
            )
        if measure.add(value) or measure.not_finite > 1:
            return None
        return f"measure {name!r} got {value}, or its sum is too large; allowed are finite numbers"

    def merge(self, other: "Measures") -> None:
        """Takes what somebody else has added up."""
        self.dropped += other.dropped
        for name, theirs in other._by_name.items():
            mine = self._of(name)
            if mine is None:
                self.dropped += theirs.count + theirs.not_finite
            else:
                mine.merge(theirs)

    def as_dict(self) -> dict[str, dict[str, Any]]:
        """Returns the measures by name, as a JSON object."""
        return {name: measure.as_dict() for name, measure in sorted(self._by_name.items())}

    @classmethod
    def parse(cls, value: Mapping[str, Mapping[str, Any]]) -> "Measures":
        """Returns the measures of such a JSON object.

        Raises:
          TypeError: It is none.
        """
        parsed = cls()
        parsed._by_name = {name: Measure(**fields) for name, fields in value.items()}
        return parsed

    def __bool__(self) -> bool:
        return bool(self._by_name) or self.dropped > 0

    def _of(self, name: str) -> Measure | None:
        """Returns the measure of a name; None where there is no room for it."""
        found = self._by_name.get(name)
        if found is None and len(self._by_name) < NAMES_MAX and len(name) <= NAME_CHARACTERS_MAX:
            found = self._by_name[name] = Measure()
        return found
