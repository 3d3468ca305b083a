"""Remote models: batches of all that wait, asked by calls that carry all that a replica has."""

from collections import deque
from dataclasses import dataclass, field

import simpy

from app.capacity.costs import DecisionCost
from app.capacity.simulation.replica import Process, Replica, Tick


@dataclass(slots=True)
class _Call:
    ticks: list[Tick]
    done: simpy.Event


class ModelReplica:
    """Answers calls in batches; a single server."""

    def __init__(self, env: simpy.Environment, cost: DecisionCost, max_rows: int) -> None:
        self._env = env
        self._cost = cost
        self._max_rows = max_rows
        self._calls: deque[_Call] = deque()
        self._asleep: simpy.Event | None = None
        self.busy_s = 0.0
        self.batches = 0
        self.rows = 0
        env.process(self._run())

    def call(self, ticks: list[Tick]) -> simpy.Event:
        """Returns the event of the answer to a call."""
        done = self._env.event()
        self._calls.append(_Call(ticks, done))
        if self._asleep is not None:
            self._asleep.succeed()
            self._asleep = None
        return done

    def _run(self) -> Process:
        while True:
            if not self._calls:
                self._asleep = self._env.event()
                yield self._asleep
            taken = [self._calls.popleft()]
            rows = len(taken[0].ticks)
            while self._calls and rows + len(self._calls[0].ticks) <= self._max_rows:
                taken.append(self._calls.popleft())
                rows += len(taken[-1].ticks)
            busy_s = self._cost.batch_s(rows)
            yield self._env.timeout(busy_s)
            self.busy_s += busy_s
            self.batches += 1
            self.rows += rows
            for call in taken:
                call.done.succeed()


@dataclass(slots=True)
class Line:
    """What one actor replica asks a model: one call under way at a time carries all that waits."""

    env: simpy.Environment
    model: ModelReplica
    round_trip_s: float
    replica: Replica | None = None
    _waiting: list[Tick] = field(default_factory=list)
    _under_way: bool = False

    def ask(self, ticks: list[Tick]) -> None:
        """Passes ticks on; the replica answers them when the model has."""
        self._waiting += ticks
        if not self._under_way:
            self._under_way = True
            self.env.process(self._pump())

    def _pump(self) -> Process:
        while self._waiting:
            ticks, self._waiting = self._waiting, []
            yield self.env.timeout(self.round_trip_s / 2)
            yield self.model.call(ticks)
            yield self.env.timeout(self.round_trip_s / 2)
            if self.replica is not None:
                self.replica.answer(ticks)
        self._under_way = False
