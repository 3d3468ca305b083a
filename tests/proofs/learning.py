"""Learns a Gymnasium game in this process by a shipped config: its model, its buffer, its algorithm; no service."""

import time
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import gymnasium
import numpy as np
import torch
from torch import nn

from app.agents.pace import Pace
from app.config.active import active
from app.config.load import load
from app.models.module import build_module, spec_of
from app.replay.fifo_supply import FifoSupply
from app.replay.sample import Keys
from app.replay.supply import joined
from app.seeding import derive
from app.stores.buffer_settings import buffer_settings
from app.stores.supplies import make_supply
from app.types import Version
from train.adversaries import load_adversaries
from train.learning import make_learner
from train.strategies.build import wrap
from train.strategies.strategy import Place

from .rollouts import MakeEnv, Rollouts, evaluated, tensors

if TYPE_CHECKING:
    from collections.abc import Sequence

CONFIGS = Path(__file__).parents[2] / "configs"
EVALUATED_GAMES = 50
NEWEST_GAMES = 20
"""Training games whose mean tells when an evaluation is worth its time."""


@dataclass(frozen=True, slots=True)
class Proof:
    """What came of learning."""

    config: str
    seed: int
    env_steps: int
    """Ticks played until the goal, or the limit."""
    mean_return: float
    """Of the newest evaluation: greedy games, none of them learned from."""
    seconds: float
    """Time of this process, evaluations included."""
    curve: tuple[tuple[int, float], ...]
    """Ticks and the mean return of the newest training games."""

    def line(self) -> str:
        """Returns what a table shows: config, seed, steps, return, seconds, and some points of the curve."""
        points = self.curve[:: max(1, len(self.curve) // 8)]
        curve = " ".join(f"{steps / 1000:.0f}k:{mean:.0f}" for steps, mean in points)
        return f"{self.config:22} {self.seed} {self.env_steps:7,} {self.mean_return:8.1f} {self.seconds:6.1f}  {curve}"


class Learning:
    """Plays and learns by turns."""

    def __init__(self, config: str, seed: int, make_env: MakeEnv | None = None, changes: "Sequence[str]" = ()) -> None:
        """Builds network, learner, buffer and games.

        Args:
          config: Name of a shipped file.
          seed: In place of the file's.
          make_env: Makes one game; None makes that of the config.
          changes: ``dotted.key=value``.
        """
        whole = active(load(CONFIGS / config, [f"run.seed={seed}", *changes]))
        if whole.launch is None:
            raise ValueError(f"{config} has no launch section")
        (trainer,) = whole.trainers.values()
        model = whole.models[trainer.model]
        wanted = trainer.inputs[0]
        if wanted.buffer is None:
            raise ValueError(f"{config} learns from a source")
        self._config, self._seed = config, seed
        self.goal = whole.launch.goal.mean_return
        self.module: nn.Module = build_module(model.factory, model.kwargs, seed)
        self._spec = spec_of(self.module)
        self._supply = make_supply(self._spec, buffer_settings(whole, wanted.buffer), 0)
        adversary = load_adversaries(whole, trainer, self._spec).get(0)
        make = partial(make_learner, wanted, self._spec, adversary=adversary)
        self._learner = wrap(trainer, self.module, Place()).learner(make)
        env_id = whole.launch.simulator.env
        self.make_env: MakeEnv = make_env or (lambda: gymnasium.make(env_id, disable_env_checker=True))
        self._pace = Pace(wanted.batch_rows) if whole.buffers[wanted.buffer].rollouts == "wait" else None
        if self._pace is not None:
            self._pace.took(Version(1, 0))
        self._publish_every = trainer.publish_every_updates
        self._acting = self.module if self._publish_every == 1 else deepcopy(self.module)
        (actor,) = whole.actors.values()
        games = whole.launch.simulator.games
        self.rollouts = Rollouts(self.make_env, games, self._acting, seed, actor.unroll_ticks or 64, self._pace)
        self._updates = 0

    def run(self, largest_env_steps: int, promising: float) -> Proof:
        """Learns until evaluated games reach the config's goal, or so many ticks were played.

        Args:
          largest_env_steps: Ticks of all games.
          promising: Mean return of training games from which on an evaluation is made.
        """
        begun_s = time.process_time()
        curve: list[tuple[int, float]] = []
        found, seen = float("-inf"), 0
        while self.rollouts.steps < largest_env_steps and found < self.goal:
            self._play()
            if self.rollouts.finished - seen < NEWEST_GAMES:
                continue
            seen = self.rollouts.finished
            curve.append((self.rollouts.steps, float(np.mean(list(self.rollouts.returns)[-NEWEST_GAMES:]))))
            if curve[-1][1] >= promising:
                found = self.evaluated()
        if found < self.goal:
            found = self.evaluated()
        seconds = time.process_time() - begun_s
        return Proof(self._config, self._seed, self.rollouts.steps, found, seconds, tuple(curve))

    def evaluated(self) -> float:
        """Returns the mean return of greedy games that are not learned from."""
        return evaluated(self.make_env, self.module, EVALUATED_GAMES, derive(self._seed, "evaluation") % 1000)

    def _play(self) -> None:
        rows = self.rollouts.play(8)
        if rows is not None:
            self._supply.insert(rows)
        while self._supply.batches(1):
            self._update()
        if self._pace is not None and self._pace.closed and isinstance(self._supply, FifoSupply):
            self._pace.want_more(self._supply.missing(self.rollouts.version))

    def _update(self) -> None:
        parts = self._supply.draw()
        if parts is None:
            return
        batch = joined(parts)
        shuffle = torch.Generator().manual_seed(derive(self._seed, 0, self._updates))
        learned = self._learner.update(tensors(batch), shuffle)
        self._updates += 1
        if self._updates % self._publish_every == 0:
            self._publish(Version(1, self._updates))
        if learned.priorities is not None:
            keys = Keys(batch["key_slot"].astype(np.intp), batch["key_number"])
            self._supply.update_priorities(keys, learned.priorities.numpy().astype(np.float64))

    def _publish(self, version: Version) -> None:
        if self._acting is not self.module:
            self._acting.load_state_dict(self.module.state_dict())
        self.rollouts.version = version
        self._supply.advance(version)
        if self._pace is not None:
            self._pace.took(version)
