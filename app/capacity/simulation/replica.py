"""One actor replica: an event loop, which is a single server."""

from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import simpy

from app.capacity.costs import DecisionCost, TickCost

Process = Generator[simpy.Event, Any, None]


@dataclass(slots=True)
class Tick:
    """One tick on its way."""

    sent_s: float
    answered: simpy.Event | None = None
    """Happens with its answer; None where nobody waits for it."""
    extra_s: float = 0.0
    """Of service, beside what every tick takes: a game that is recovered, say."""


@dataclass(slots=True)
class Seen:
    """What a replica has done since the last look."""

    since_s: float = 0.0
    busy_s: float = 0.0
    waited_s: float = 0.0
    """Of all ticks together, from their arrival to their service."""
    served: int = 0
    batches: int = 0
    answers_s: list[float] = field(default_factory=list)
    """From arrival to answer, of each tick."""


Ask = Callable[[list[Tick]], None]
"""Passes ticks on to a remote model, which answers them."""


class Replica:
    """Serves ticks in order of arrival, one at a time.

    Without a model each tick is answered by itself. With a local model it takes a turn as an event loop does: all
    that wait are served, then the network is asked once for all, then all are answered. With a remote model they are
    served one by one and handed on. A tick that finds the replica idle has to wake it and takes ``cost.idle_s``. Each
    service varies about its mean by ``variation``, its squared coefficient of variation.
    """

    def __init__(
        self,
        env: simpy.Environment,
        cost: TickCost,
        rng: np.random.Generator,
        variation: float = 0.0,
        local: DecisionCost | None = None,
        max_rows: int = 1024,
        remote: Ask | None = None,
    ) -> None:
        self.seen = Seen()
        self._env = env
        self._cost = cost
        self._rng = rng
        self._variation = variation
        self._local = local
        self._max_rows = max_rows
        self._remote = remote
        self._queue: deque[Tick] = deque()
        self._asleep: simpy.Event | None = None
        env.process(self._run())

    @property
    def waiting(self) -> int:
        """Returns how many ticks wait."""
        return len(self._queue)

    def arrive(self, tick: Tick) -> None:
        """Takes a tick."""
        self._queue.append(tick)
        if self._asleep is not None:
            self._asleep.succeed()
            self._asleep = None

    def look(self) -> Seen:
        """Returns what was seen since the last look, and begins anew."""
        seen, self.seen = self.seen, Seen(self._env.now)
        return seen

    def _run(self) -> Process:
        while True:
            woken = not self._queue
            if woken:
                self._asleep = self._env.event()
                yield self._asleep
            turn = [self._queue.popleft() for _ in range(self._turn())]
            for tick in turn:
                self.seen.waited_s += self._env.now - tick.sent_s
            busy_s = sum(tick.extra_s for tick in turn)
            busy_s += sum(
                self._drawn(self._cost.idle_s if woken and not n else self._cost.busy_s) for n in range(len(turn))
            )
            if self._local is not None:
                busy_s += self._drawn(self._local.batch_s(len(turn)))
                self.seen.batches += 1
            yield self._env.timeout(busy_s)
            self.seen.busy_s += busy_s
            self.seen.served += len(turn)
            if self._remote is None:
                self.answer(turn)
            else:
                self._remote(turn)

    def answer(self, ticks: list[Tick]) -> None:
        """Answers ticks."""
        for tick in ticks:
            self.seen.answers_s.append(self._env.now - tick.sent_s)
            if tick.answered is not None:
                tick.answered.succeed()

    def _turn(self) -> int:
        """Returns how many of those that wait are served in one turn of the loop."""
        return 1 if self._local is None else min(len(self._queue), self._max_rows)

    def _drawn(self, mean_s: float) -> float:
        """Returns a time with this mean: fixed, or of a gamma distribution, which at variation 1 is exponential."""
        if not self._variation:
            return mean_s
        return float(self._rng.gamma(1 / self._variation, mean_s * self._variation))
