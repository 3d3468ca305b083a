"""A population in Ray tasks: a bounded number under way, and a lost one is repeated."""

import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final, cast

import ray
from ray.exceptions import NodeDiedError, OutOfMemoryError, RayTaskError, WorkerCrashedError

from app.config.evolution import EvolutionTasks
from app.errors import ConfigError, SparringError, TrainingError
from train.evolution.play import Job, Played, Share, play

LOOK_S: Final = 0.2
"""Seconds between two looks whether the user has asked to stop."""
LOST: Final = (WorkerCrashedError, NodeDiedError, OutOfMemoryError)
"""How Ray tells of a task whose process is gone."""

_log = logging.getLogger(__name__)


class Tasks:
    """Plays shares in Ray tasks; what comes of them does not depend on the order in which they end."""

    def __init__(self, settings: EvolutionTasks, check: Callable[[], None]) -> None:
        """Keeps the parts.

        Args:
          settings: How many tasks, and what becomes of lost ones.
          check: Raises where the user has asked to stop.

        Raises:
          ConfigError: No task would ever find room in the cluster.
        """
        cores = ray.cluster_resources().get("CPU", 0)  # type: ignore[no-untyped-call]
        if settings.num_cpus > cores:
            raise ConfigError(
                f"evolution.tasks.num_cpus is {settings.num_cpus:g}; allowed is at most what the cluster has, {cores:g}"
            )
        self._settings = settings
        self._check = check
        # Lost tasks are repeated here, where they are counted; Ray would do so unseen.
        self._play: Any = ray.remote(play).options(num_cpus=settings.num_cpus, max_retries=0)
        self.lost = 0
        """Tasks whose process was lost so far."""

    def play(self, job: Job, shares: Sequence[Share]) -> list[Played]:
        """Returns what came of each share, in their order.

        Raises:
          TrainingError: A share failed, was lost too often, or no task has ended within the limit.
        """
        weights = ray.put(job)
        waiting = deque((number, 0) for number in range(len(shares)))
        running: dict[Any, tuple[int, int]] = {}
        played: dict[int, Played] = {}
        ended_s = time.monotonic()
        try:
            while waiting or running:
                while waiting and len(running) < self._settings.at_once:
                    number, losses = waiting.popleft()
                    running[self._play.remote(weights, shares[number])] = (number, losses)
                done, _ = ray.wait(list(running), num_returns=1, timeout=LOOK_S)
                self._check()
                if done:
                    ended_s = time.monotonic()
                elif time.monotonic() - ended_s > self._settings.timeout_s:
                    raise TrainingError(
                        f"no task has ended in {self._settings.timeout_s:g} s; give them more: "
                        "evolution.tasks.timeout_s, or bound their games: evolution.episode_ticks"
                    )
                for ref in done:
                    number, losses = running.pop(ref)
                    result = self._result(ref, losses)
                    if result is None:
                        waiting.appendleft((number, losses + 1))
                    else:
                        played[number] = result
        finally:
            for ref in running:
                ray.cancel(ref, force=True)
        return [played[number] for number in range(len(shares))]

    def _result(self, ref: Any, losses: int) -> Played | None:
        """Returns what came of a task that has ended; None where it was lost and may be repeated."""
        try:
            return cast("Played", ray.get(ref, timeout=self._settings.timeout_s))
        except LOST as error:
            self.lost += 1
            if losses >= self._settings.max_restarts:
                raise TrainingError(
                    f"a task was lost {losses + 1} times; evolution.tasks.max_restarts is "
                    f"{self._settings.max_restarts}. The last time: {error}"
                ) from error
            _log.warning("a task was lost and is repeated: %s", error)
            return None
        except RayTaskError as error:
            cause = error.cause
            kind = "" if isinstance(cause, SparringError) else f"{type(cause).__name__}: "
            raise TrainingError(f"a task failed: {kind}{cause}") from error
