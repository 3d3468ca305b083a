"""Learns a Gymnasium game in this process by a shipped config: its model, its buffer, its algorithm; no service."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import gymnasium
import numpy as np
import torch
from torch import nn

from app.config.active import active
from app.config.load import load
from app.models.module import build_module, spec_of
from app.replay.sample import Keys
from app.seeding import derive
from app.stores.buffer_settings import buffer_settings
from app.stores.supplies import make_supply
from train.learning import make_learner
from train.strategies.build import wrap
from train.strategies.strategy import Place

from .rollouts import MakeEnv, Rollouts, evaluated, tensors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.algorithms.contract import Learned
    from app.types import Rows

CONFIGS = Path(__file__).parents[2] / "configs"
EVALUATED_GAMES = 50
NEWEST_GAMES = 20
"""Training games whose mean tells when an evaluation is worth its time."""


@dataclass(frozen=True, slots=True)
class Proof:
    """What came of learning."""

    env_steps: int
    """Ticks played until the goal, or the limit."""
    mean_return: float
    """Of the newest evaluation: greedy games, none of them learned from."""
    curve: tuple[tuple[int, float], ...]
    """Ticks and the mean return of the newest training games."""


class Learning:
    """Plays and learns by turns."""

    def __init__(self, config: str, seed: int, make_env: MakeEnv | None = None, changes: "Sequence[str]" = ()) -> None:
        whole = active(load(CONFIGS / config, [f"run.seed={seed}", *changes]))
        if whole.launch is None:
            raise ValueError(f"{config} has no launch section")
        (trainer,) = whole.trainers.values()
        model = whole.models[trainer.model]
        wanted = trainer.inputs[0]
        if wanted.buffer is None:
            raise ValueError(f"{config} learns from a source")
        self._seed = seed
        self.goal = whole.launch.goal.mean_return
        self.module: nn.Module = build_module(model.factory, model.kwargs, seed)
        self._spec = spec_of(self.module)
        self._supply = make_supply(self._spec, buffer_settings(whole, wanted.buffer), 0)
        self._learner = wrap(trainer, self.module, Place()).learner(partial(make_learner, wanted, self._spec))
        env_id = whole.launch.simulator.env
        self.make_env: MakeEnv = make_env or (lambda: gymnasium.make(env_id))
        (actor,) = whole.actors.values()
        games = whole.launch.simulator.games
        self.rollouts = Rollouts(self.make_env, games, self.module, seed, actor.unroll_ticks or 64)
        self._updates = 0

    def run(self, largest_env_steps: int, promising: float) -> Proof:
        """Learns until evaluated games reach the config's goal, or so many ticks were played.

        Args:
          largest_env_steps: Ticks of all games.
          promising: Mean return of training games from which on an evaluation is made.
        """
        curve: list[tuple[int, float]] = []
        found, seen = float("-inf"), 0
        while self.rollouts.steps < largest_env_steps and found < self.goal:
            rows = self.rollouts.play(8)
            if rows is not None:
                self._supply.insert(rows)
            while self._supply.batches(1):
                self._update()
            newest = list(self.rollouts.returns)[-NEWEST_GAMES:]
            if self.rollouts.finished - seen < NEWEST_GAMES:
                continue
            seen = self.rollouts.finished
            curve.append((self.rollouts.steps, float(np.mean(newest))))
            if curve[-1][1] >= promising:
                found = evaluated(self.make_env, self.module, EVALUATED_GAMES, derive(self._seed, "evaluation") % 1000)
        if found == float("-inf"):
            found = evaluated(self.make_env, self.module, EVALUATED_GAMES, derive(self._seed, "evaluation") % 1000)
        return Proof(self.rollouts.steps, found, tuple(curve))

    def _update(self) -> None:
        parts = self._supply.draw()
        if parts is None:
            return
        batch: Rows = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        shuffle = torch.Generator().manual_seed(derive(self._seed, 0, self._updates))
        learned: Learned = self._learner.update(tensors(batch), shuffle)
        self._updates += 1
        if learned.priorities is not None:
            keys = Keys(batch["key_slot"].astype(np.intp), batch["key_number"])
            self._supply.update_priorities(keys, learned.priorities.numpy().astype(np.float64))
