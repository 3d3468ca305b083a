"""When a worker saves, and what it starts from."""

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from torch import nn

from app.config.checkpoints import CheckpointsConfig
from app.models.module import from_arrays
from app.models.saved import read_model
from train.beginning import Beginning
from train.checkpoint import Checkpoints, LearnerState, load_state

MEAN_RETURN: Final = "mean_return"
"""Metric of a checkpoint that the games decide, not the updates."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SavingArgs:
    """What the driver tells each worker of checkpoints."""

    folder: str
    """Where the trainer's checkpoints lie."""
    beginning: Beginning | None
    """Where the first weights lie; None draws them from the seed."""
    run: str
    """The driver's start; workers that follow a failed group of the same run go on from its newest checkpoint."""


class Saving:
    """One worker's side of the checkpoints."""

    def __init__(
        self, config: CheckpointsConfig, args: SavingArgs, clock_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._config = config
        self._args = args
        self._checkpoints = Checkpoints(Path(args.folder), config.keep)
        self._clock_s = clock_s
        self._tried_s = clock_s()
        self._tried_updates = 0
        self._warned = False
        self.begun_in = Path(args.folder)
        """Folder of the checkpoint that training went on from, with those beside it."""

    def begin(self, module: nn.Module, spec_hash: str, factory: str) -> LearnerState | None:
        """Fills the network with its first weights, and returns what training goes on from; None where it begins.

        Raises:
          CheckpointError: What it shall start from cannot be read or is of another network.
          ModelMismatchError: The first weights are of another network.
        """
        state = self._checkpoints.newest_state(self._args.run)
        beginning = self._args.beginning
        if state is None and beginning is not None:
            if not beginning.whole:
                saved = read_model(Path(beginning.folder))
                saved.check(spec_hash, beginning.folder, factory)
                from_arrays(module, saved.arrays)
                return None
            state = load_state(Path(beginning.folder))
            self.begun_in = Path(beginning.folder).parent
        if state is None:
            return None
        state.check(spec_hash)
        module.load_state_dict(state.progress.trained.model)
        self._tried_updates = state.updates
        return state

    def newest_generation(self) -> int:
        """Returns the generation of the newest checkpoint; 0 where there is none."""
        return self._checkpoints.newest_generation()

    def due(self, updates: int) -> bool:
        """Returns whether a checkpoint is due, and then counts from here, whether it can be written or not."""
        every_s, every_updates = self._config.every_s, self._config.every_updates
        by_time = every_s is not None and self._clock_s() - self._tried_s >= every_s
        by_updates = every_updates is not None and updates - self._tried_updates >= every_updates
        if by_time or by_updates:
            self._tried_s, self._tried_updates = self._clock_s(), updates
        return by_time or by_updates

    def save(self, state: LearnerState) -> Path:
        """Writes a checkpoint.

        Raises:
          CheckpointError: It cannot be written; those before it are as they were.
        """
        self._look_for_metric(state.metrics)
        return self._checkpoints.save(state)

    def _look_for_metric(self, metrics: Mapping[str, float]) -> None:
        """Warns, once, where checkpoints are to be compared by a metric that updates do not have."""
        best = self._config.keep.best
        if best is None or best.metric in (MEAN_RETURN, *metrics) or not metrics or self._warned:
            return
        self._warned = True
        _log.warning(
            "keep.best compares checkpoints by %r, which no update has: none is kept for it; there are mean_return, %s",
            best.metric,
            ", ".join(sorted(metrics)),
        )
