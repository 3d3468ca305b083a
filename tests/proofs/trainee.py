"""A network and what learns from its rows, in this process, by a shipped config."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import torch
from torch import nn

from app.config.active import active
from app.config.load import load
from app.models.module import build_module, spec_of
from app.replay.supply import joined
from app.seeding import derive
from app.stores.buffer_settings import buffer_settings
from app.stores.supplies import make_supply
from app.types import Rows, Version
from train.learning import make_learner
from train.strategies.build import wrap
from train.strategies.strategy import Place

from .rollouts import tensors

CONFIGS = Path(__file__).parents[2] / "configs"


class Trainee:
    """Learns as soon as it has the rows of a batch; each update is a version."""

    def __init__(self, config: str, seed: int, changes: Sequence[str] = ()) -> None:
        """Builds network, buffer and learner.

        Args:
          config: Name of a shipped file with one trainer.
          seed: In place of the file's.
          changes: ``dotted.key=value``.
        """
        self.config = active(load(CONFIGS / config, [f"run.seed={seed}", *changes]))
        (trainer,) = self.config.trainers.values()
        model, wanted = self.config.models[trainer.model], trainer.inputs[0]
        if wanted.buffer is None:
            raise ValueError(f"{config} learns from a source")
        self.module: nn.Module = build_module(model.factory, model.kwargs, seed)
        self.version = Version(1, 0)
        self._seed = seed
        spec = spec_of(self.module)
        self._supply = make_supply(spec, buffer_settings(self.config, wanted.buffer), 0)
        self._learner = wrap(trainer, self.module, Place()).learner(partial(make_learner, wanted, spec))

    def learn(self, rows: Rows) -> None:
        """Takes rows and learns from what makes whole batches."""
        self._supply.insert(rows)
        while self._supply.batches(1):
            parts = self._supply.draw()
            if parts is None:
                return
            shuffle = torch.Generator().manual_seed(derive(self._seed, 0, self.version.number))
            self._learner.update(tensors(joined(parts)), shuffle)
            self.version = Version(1, self.version.number + 1)
            self._supply.advance(self.version)
