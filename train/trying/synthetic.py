"""Made-up games in the shapes of a model."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.agents.json_arrays import write_action
from app.models.columns import mask_columns, target_columns
from app.models.distributions.action import act, draws_of
from app.models.export.samples import random_array
from app.models.spec import ModelSpec
from app.models.torch_engine import TorchEngine
from app.replay.rows import empty_batch
from app.types import RowKind, Rows

GENERATION: Final = 1
"""Weights of generation 0 are untrained, and nobody learns from their rows."""


def observations(spec: ModelSpec, count: int, rng: np.random.Generator) -> list[NDArray[np.generic]]:
    """Returns random observations by leaves, each [count, …]: normal numbers, bytes of all values, else 0 and 1."""
    return [random_array(leaf, count, rng) for leaf in spec.inputs.leaves]


def payload(spec: ModelSpec, rng: np.random.Generator) -> dict[str, object]:
    """Returns a random tick as a game core sends it."""
    nested = spec.inputs.unflatten([leaf[0] for leaf in observations(spec, 1, rng)])
    reward: object = float(rng.normal())
    if spec.rewards:
        reward = {name: float(rng.normal()) for name in spec.rewards}
    return {"observation": write_action(nested), "reward": reward}


def games(engine: TorchEngine, count: int, ticks: int, rng: np.random.Generator) -> Rows:
    """Returns rows of games that a policy has played in random observations, [count · (ticks + 1)].

    Every second one ends, the others are cut off. Rewards are normal.

    Args:
      engine: The policy.
      count: How many games.
      ticks: Steps of each.
      rng: Draws all of it.
    """
    spec = engine.spec
    parts = [empty_batch(spec, count) for _ in range(ticks + 1)]
    states: Sequence[NDArray[np.generic]] = [np.zeros((count, *x.shape), x.dtype) for x in spec.states.leaves]
    for tick, rows in enumerate(parts):
        seen = observations(spec, count, rng)
        rows |= dict(zip(spec.inputs.columns("observation"), seen, strict=True))
        rows |= dict(zip(spec.states.columns("state"), states, strict=True))
        rows["tick"][:], rows["episode"][:], rows["generation"][:] = tick, np.arange(count) + 1, GENERATION
        answer = engine.forward(seen, states)
        if tick == ticks:
            break
        _act(spec, rows, answer.outputs, rng)
        states = answer.states
    parts[-1]["kind"][:] = np.where(np.arange(count) % 2, RowKind.TRUNCATED, RowKind.TERMINATED)
    stacked = {name: np.stack([rows[name] for rows in parts], axis=1) for name in parts[0]}
    return {name: column.reshape(-1, *column.shape[2:]) for name, column in stacked.items()}


def _act(spec: ModelSpec, rows: Rows, outputs: Sequence[NDArray[np.generic]], rng: np.random.Generator) -> None:
    """Fills in what was done in each row, and what it brought."""
    count = len(rows["kind"])
    *dist_inputs, value = outputs
    uniforms = rng.random((count, draws_of(spec.actions)))
    floats = [np.asarray(x, np.float32) for x in dist_inputs]
    acted = act(spec.actions, floats, uniforms, [None] * len(spec.actions))
    rows |= dict(zip(spec.actions.columns("action"), acted.actions, strict=True))
    rows["log_prob"], rows["value"] = acted.log_probs.astype(np.float32), np.asarray(value, np.float32)
    rows["reward"] = rng.normal(size=rows["reward"].shape).astype(np.float32)
    rows["kind"][:], rows["weight"][:] = RowKind.STEP, 1
    for name in mask_columns(spec):
        rows[name][:] = 1
    for name, choices in target_columns(spec).items():
        rows[name][:] = 1 / choices
