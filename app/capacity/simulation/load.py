"""Who sends ticks to a simulated replica."""

import math
from dataclasses import dataclass

import numpy as np
import simpy

from app.capacity.simulation.replica import Process, Replica, Tick

_SLACK = 1e-9
"""Periods that rounding may add."""


def arrivals(env: simpy.Environment, replica: Replica, rate_per_s: float, rng: np.random.Generator) -> Process:
    """Sends ticks at exponential distances, whatever becomes of them: the sum of very many games."""
    while True:
        yield env.timeout(float(rng.exponential(1 / rate_per_s)))
        replica.arrive(Tick(env.now))


@dataclass(frozen=True, slots=True)
class GameSettings:
    """How one session plays."""

    period_s: float
    """From one tick to the next."""
    think_s: float
    """From an answer to the next tick, at least."""
    first_extra_s: float = 0.0
    """More service that the first tick takes."""


def game(env: simpy.Environment, replica: Replica, settings: GameSettings, begins_s: float) -> Process:
    """Plays a session by its own clock: a tick every period; one whose turn comes too early is left out.

    Too early is before the last answer and the think time behind it.

    Args:
      env: The simulation.
      replica: Who answers.
      settings: Period and think time.
      begins_s: When the first tick is sent, from now.
    """
    yield env.timeout(begins_s)
    extra_s = settings.first_extra_s
    while True:
        sent_s, answered = env.now, env.event()
        replica.arrive(Tick(sent_s, answered, extra_s))
        extra_s = 0.0
        yield answered
        gone = (env.now + settings.think_s - sent_s) / settings.period_s
        yield env.timeout(sent_s + settings.period_s * max(1, math.ceil(gone - _SLACK)) - env.now)
