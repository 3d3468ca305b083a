"""Trains a trial in one process: the quickest way where the game is a Gymnasium environment."""

from pathlib import Path

import torch

from app.config.active import active
from app.config.root import ExperimentConfig
from train.checkpoint import Checkpoints
from train.in_process import PlainLoop
from train.search.trial import SearchTrial


def objective(config: ExperimentConfig, trial: SearchTrial) -> None:
    """Plays ``launch.simulator`` and learns by turns; reports the newest games' ``mean_return``, ``ticks``, ``games``.

    Raises:
      SparringError: The config does not fit, or training failed.
    """
    torch.set_num_threads(1)
    folder = trial.restored()
    loop = PlainLoop(active(config), None if folder is None else Checkpoints(folder).newest_state())
    try:
        reported = loop.updates
        while loop.updates < trial.updates:
            loop.frame()
            due = loop.updates - reported >= trial.report_every_updates or loop.updates == trial.updates
            if due and loop.newest:
                reported = loop.updates
                _report(loop, trial)
    finally:
        loop.close()


def _report(loop: PlainLoop, trial: SearchTrial) -> None:
    metrics = {
        "mean_return": sum(loop.newest) / len(loop.newest),
        "ticks": float(loop.steps),
        "games": float(loop.games),
    }
    trial.report(loop.updates, metrics, lambda folder: _save(loop, folder, trial.name, metrics))


def _save(loop: PlainLoop, folder: Path, name: str, metrics: dict[str, float]) -> None:
    Checkpoints(folder).save(loop.state(name, metrics))
