"""Sessions that ask a model, each for its next decision as soon as it has the last one."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from app.models.model import Model
from app.models.question import Leaves, Question
from app.models.spec import ModelSpec


@dataclass(frozen=True, slots=True)
class Asked:
    """What one window came to."""

    observations: int
    seconds: float
    cpu_s: float
    """CPU seconds of this process."""
    latencies_s: tuple[float, ...] = ()
    """Of each question; none where they were not noted."""

    @property
    def cpu_us(self) -> float:
        """Returns the CPU time of one observation."""
        return 1e6 * self.cpu_s / self.observations

    @property
    def per_s(self) -> float:
        """Returns observations a second."""
        return self.observations / self.seconds


def observations_of(spec: ModelSpec, rows: int, seed: int = 0) -> Leaves:
    """Returns random observations by leaves, each [rows, …]: never zeros, which some networks skip."""
    source = np.random.default_rng(seed)
    return [
        (source.random((rows, *leaf.shape)) * (200 if np.dtype(leaf.dtype).kind in "iu" else 1)).astype(leaf.dtype)
        for leaf in spec.inputs.leaves
    ]


async def ask(model: Model, sessions: int, seconds: float) -> Asked:
    """Returns what sessions got that asked for so many seconds."""
    leaves = observations_of(model.spec, sessions)
    singles = [model.spec.inputs.unflatten([leaf[row] for leaf in leaves]) for row in range(sessions)]
    latencies: list[float] = []
    begin_s, cpu_s = time.perf_counter(), time.process_time()
    end_s = begin_s + seconds

    async def play(observation: object) -> None:
        while (asked_s := time.perf_counter()) < end_s:
            await model.decide(Question(observation, (0.5,)))  # type: ignore[arg-type]  # Nested as the spec tells.
            latencies.append(time.perf_counter() - asked_s)

    async with asyncio.TaskGroup() as group:
        for single in singles:
            group.create_task(play(single))
    took_s = time.perf_counter() - begin_s
    return Asked(len(latencies), took_s, time.process_time() - cpu_s, tuple(latencies))


async def ask_batches(model: Model, rows: int, seconds: float) -> Asked:
    """Returns what one asker got that asked for whole batches, for so many seconds."""
    batch = model.spec.inputs.unflatten(observations_of(model.spec, rows))
    begin_s, cpu_s = time.perf_counter(), time.process_time()
    end_s, batches = begin_s + seconds, 0
    while time.perf_counter() < end_s:
        await model.forward(batch)
        batches += 1
    return Asked(batches * rows, time.perf_counter() - begin_s, time.process_time() - cpu_s)


def call(function: Callable[[], object], rows: int, seconds: float) -> Asked:
    """Returns what a function took that answers so many rows a call, for so many seconds."""
    begin_s, cpu_s = time.perf_counter(), time.process_time()
    end_s, calls = begin_s + seconds, 0
    while time.perf_counter() < end_s:
        function()
        calls += 1
    return Asked(calls * rows, time.perf_counter() - begin_s, time.process_time() - cpu_s)
