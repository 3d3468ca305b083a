"""``sparring evolve``: trains a policy by evolution strategies, in Ray tasks."""

import json
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated

import typer

from app.config.load import load
from app.config.root import ExperimentConfig
from app.home import ensure, state_root
from app.models.checkpoints import LATEST
from app.stages import Stages
from train.evolution.logs import Logs
from train.evolution.run import EvolutionResult, EvolutionRun, settings_of
from train.launch.cluster import Cluster
from train.launch.stopping import Stopper


def evolve(
    config: Annotated[Path, typer.Option(help="Config file with an evolution section.")],
    set_: Annotated[list[str] | None, typer.Option("--set", metavar="a.b=c", help="Override; may be repeated.")] = None,
    restore: Annotated[
        str | None,
        typer.Option(help="latest, a number of updates, or a model; default: as checkpoints.on_existing says."),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="The same as --restore latest.")] = False,
) -> None:
    """Evolves a policy on a Gymnasium environment; prints one JSON line at the end.

    The exit code is 0, or 1 where the goal was not reached.

    Raises:
      SparringError: The config is wrong, there is nothing to start from, or a task failed.
    """
    stopper = Stopper()
    stopper.install()
    started_s = time.time()
    stages = Stages()
    command = Evolving(load(config, set_ or []), stopper, stages.tell, started_s)
    try:
        with stages:
            result = command.run(LATEST if resume else restore)
    finally:
        if stopper.requested():
            stages.tell("interrupted")
            stopper.enforce()
    sys.stdout.write(json.dumps({**result.as_dict(), "seconds": round(time.time() - started_s, 1)}) + "\n")
    if result.solved is False:
        raise typer.Exit(1)


class Evolving:
    """Ray, logs and the evolution of one command; everything that it starts ends with it."""

    def __init__(
        self, config: ExperimentConfig, stopper: Stopper, tell: Callable[[str], None], started_s: float
    ) -> None:
        """Keeps the parts; nothing is started.

        Args:
          config: With an evolution section.
          stopper: Knows whether the user has asked to stop.
          tell: Shows a line to the user.
          started_s: Unix time of the start.

        Raises:
          ConfigError: There is no evolution section.
        """
        self._settings = settings_of(config)
        self._config, self._stopper = config, stopper
        self._tell, self._started_s = tell, started_s

    def run(self, restore: str | None) -> EvolutionResult:
        """Returns what came of it.

        Args:
          restore: What to start from; None does as the config says.

        Raises:
          SparringError: A part failed.
        """
        home = ensure(state_root(self._config.run.project))
        logs = Logs(self._config, home, self._started_s)
        cluster = Cluster()
        finished = False
        try:
            self._tell("starting Ray")
            cluster.start()
            self._stopper.install()  # Ray has put a SIGTERM handler of its own in place of ours.
            result = self._evolve(home, logs, restore)
            finished = True
        finally:
            logs.close("FINISHED" if finished else "KILLED" if self._stopper.requested() else "FAILED")
            cluster.close()
        return result

    def _evolve(self, home: Path, logs: Logs, restore: str | None) -> EvolutionResult:
        from train.evolution.tasks import Tasks  # noqa: PLC0415

        tasks = Tasks(self._settings.tasks, self._stopper.check)

        def log(updates: int, metrics: Mapping[str, float]) -> None:
            found = {**metrics, "tasks_lost": float(tasks.lost)}
            logs.log(updates, found)
            evaluated = f"  evaluation {found['eval_return_mean']:.4g}" if "eval_return_mean" in found else ""
            self._tell(f"updates {updates}  mean return {found['mean_return']:.4g}{evaluated}")

        run = EvolutionRun(self._config, home, tasks, log, restore, self._started_s)
        self._tell(f"{self._settings.pairs} pairs, {self._settings.tasks.at_once} tasks at a time")
        return run.run()
