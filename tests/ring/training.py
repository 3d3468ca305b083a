"""Runs a trainer beside a test's service."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from app.config.active import active
from app.stores.metrics_values import Update
from train.run import TrainingRun

from .service import Service, config_of, wait_until

START_S = 240.0
"""Longest wait for a trainer to start, on a busy machine."""


def trainer(service: Service, home: Path, *overrides: str, resume: bool = False) -> TrainingRun:
    config = active(config_of(service.trial_name, *service.overrides, *overrides))
    return TrainingRun(config, "main", service.trial, home, restore="latest" if resume else None)


@contextmanager
def training(service: Service, home: Path, *overrides: str, resume: bool = False) -> Iterator[TrainingRun]:
    """Trains for as long as the block runs, and ends with a checkpoint."""
    run = trainer(service, home, *overrides, resume=resume)
    run.start()
    try:
        yield run
        run.stop()
        assert wait_for_end(run)
    finally:
        run.stop()
        run.wait(START_S)


def wait_for_end(run: TrainingRun) -> bool:
    """Returns whether training has ended in time; raises what ended it before its time."""
    return wait_until(lambda: run.join(0.1), "training ends", START_S)


def updates(service: Service, until: Callable[[list[Update]], bool], what: str) -> list[Update]:
    """Returns the updates of the present run once they are as wished."""

    def found() -> list[Update]:
        seen = service.trial.metrics.updates_after(0)
        return seen if until(seen) else []

    return wait_until(found, what, START_S)
