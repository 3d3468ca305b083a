"""Schedules: which share of the learning rate an optimizer step has, and other numbers that change while learning.

They are functions of the number of steps or updates alone.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

Schedule = Callable[[int], float]
"""From the optimizer steps taken so far to a factor of the learning rate."""


def constant(_steps: int) -> float:
    """Returns 1."""
    return 1.0


def linear(steps: int, decay_steps: int, end: float) -> float:
    """Returns 1 at the first step, ``end`` from ``decay_steps`` on, and a straight line between."""
    return 1.0 + (end - 1.0) * _share(steps, decay_steps)


def cosine(steps: int, decay_steps: int, end: float) -> float:
    """Returns 1 at the first step, ``end`` from ``decay_steps`` on, and half a cosine between.

    After Loshchilov & Hutter (2017), https://arxiv.org/abs/1608.03983, without restarts.
    """
    return end + (1.0 - end) * 0.5 * (1.0 + math.cos(math.pi * _share(steps, decay_steps)))


def exponential(steps: int, factor: float, every_steps: int, end: float) -> float:
    """Returns ``factor`` to the power of ``steps / every_steps``, and no less than ``end``."""
    return max(end, math.pow(factor, steps / every_steps))


def warmed_up(schedule: Schedule, warmup_steps: int) -> Schedule:
    """Returns a schedule that grows in a straight line for some steps, the first of which is not lost, then begins."""

    def factor(steps: int) -> float:
        if steps < warmup_steps:
            return (steps + 1) / warmup_steps * schedule(0)
        return schedule(steps - warmup_steps)

    return factor


@dataclass(frozen=True, slots=True)
class Line:
    """A number that changes in a straight line over updates."""

    first: float
    last: float
    updates: int
    """Updates until it is ``last``."""

    def at(self, updates: int) -> float:
        """Returns the number after so many updates."""
        return self.first + (self.last - self.first) * min(1.0, updates / self.updates)


def _share(steps: int, decay_steps: int) -> float:
    return min(1.0, steps / decay_steps)
