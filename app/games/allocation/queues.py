"""Jobs that arrive at agents, one after another, and are sent to servers that work them off: what happens when."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass(slots=True)
class Queues:
    """Servers with a queue each, in continuous time; the next event is always the arrival of a job.

    Jobs arrive at ``load`` of what all servers work off together, each at an agent drawn evenly.
    """

    speeds: NDArray[np.float64]
    """Work that each server does in a second; a job is 1 on average, drawn exponentially."""
    agents: int
    load: float
    rng: np.random.Generator
    time_s: float = 0.0
    backlog: NDArray[np.float64] = field(init=False)
    """Work that lies at each server."""

    def __post_init__(self) -> None:
        if not 0 < self.load < 1:
            raise ValueError(f"load is {self.load}; allowed is above 0 and below 1: queues would grow for ever")
        self.backlog = np.zeros(len(self.speeds))

    def next_arrival(self) -> int:
        """Lets time pass until a job arrives; returns the agent at which it does."""
        passed_s = self.rng.exponential(1.0 / (self.load * float(self.speeds.sum())))
        self.time_s += passed_s
        self.backlog = np.maximum(0.0, self.backlog - self.speeds * passed_s)
        return int(self.rng.integers(self.agents))

    def send(self, server: int) -> float:
        """Puts the job that has arrived into a server's queue; returns the seconds until it will be done."""
        self.backlog[server] += self.rng.exponential()
        return float(self.backlog[server] / self.speeds[server])

    def waits_s(self) -> NDArray[np.float64]:
        """Returns how long a job of size 1 would take at each server, [servers]."""
        return (self.backlog + 1.0) / self.speeds
