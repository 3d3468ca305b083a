"""What trying a component came to."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

MS: Final = 1000


@dataclass(frozen=True, slots=True)
class Report:
    """What a component did, alone."""

    component: str
    """Kind and name."""
    facts: dict[str, object]
    """What was seen: shapes, counts, speeds."""
    problems: tuple[str, ...] = field(default=())
    """What is wrong; none where the component can be used."""

    def as_dict(self) -> dict[str, object]:
        """Returns the report as one object."""
        return {"component": self.component, "ok": not self.problems, "problems": list(self.problems), **self.facts}


def told(error: BaseException) -> str:
    """Returns an error as a problem: code of a user's own may raise anything."""
    return f"{type(error).__name__}: {error}"


def per_s(work: Callable[[], object], count: int, seconds: float) -> float:
    """Returns how much a second some work does.

    Args:
      work: What is timed, again and again, once at least.
      count: How much it does each time.
      seconds: For how long.
    """
    work()  # What is only slow at first would spoil the figure.
    began_s, done = time.perf_counter(), 0
    while not done or time.perf_counter() - began_s < seconds:
        work()
        done += count
    return round(done / (time.perf_counter() - began_s), 1)
