"""Learns from recorded rows in this process by a shipped config: its model, its algorithm; no service, no source."""

import time
from functools import partial

import gymnasium
import torch
from torch import nn

from app.config.load import load
from app.models.module import build_module, spec_of
from app.models.spec import ModelSpec
from app.types import Rows
from train.learning import make_learner
from train.strategies.build import wrap
from train.strategies.strategy import Place

from .learning import CONFIGS, EVALUATED_GAMES, Proof
from .rollouts import evaluated, tensors


def taught(config: str, rows: Rows, optimizer_steps: int, seed: int = 0) -> Proof:
    """Returns what evaluated games of CartPole gave after so many steps on the same rows.

    Args:
      config: Name of a shipped file with one source; the rows take its place, all of them as one batch.
      rows: Whole trajectories.
      optimizer_steps: Steps of ``minibatch_rows`` each, rounded up to whole batches.
      seed: Of the network, of the order of the rows and of the evaluated games.
    """
    begun_s = time.process_time()
    whole = load(CONFIGS / config, [f"run.seed={seed}"])
    (trainer,) = whole.trainers.values()
    model = whole.models[trainer.model]
    module: nn.Module = build_module(model.factory, model.kwargs, seed)
    wanted = trainer.inputs[0].model_copy(update={"batch_rows": len(rows["kind"])})
    learner = wrap(trainer, module, Place()).learner(partial(make_learner, wanted, spec_of(module)))
    batch, taken, update = tensors(rows), 0.0, 0
    while taken < optimizer_steps:
        taken += learner.update(batch, torch.Generator().manual_seed(update)).metrics["optimizer_steps"]
        update += 1
    found = evaluated(lambda: gymnasium.make("CartPole-v1"), module, EVALUATED_GAMES, seed=9)
    return Proof(config, seed, 0, found, time.process_time() - begun_s, ())


def spec_in(config: str) -> ModelSpec:
    """Returns the shapes of the model of a shipped file."""
    whole = load(CONFIGS / config, [])
    (trainer,) = whole.trainers.values()
    model = whole.models[trainer.model]
    return spec_of(build_module(model.factory, model.kwargs, 0))
