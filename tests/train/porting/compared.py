"""What a ported network answers beside what was said there."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from app.models.distributions.epsilon_greedy import EpsilonGreedy
from app.models.distributions.squashed_gaussian import SquashedGaussian
from app.models.module import build_module, call, from_arrays, spec_of
from app.models.saved import read_model
from train.porting.networks import SAC_LOG_STD_MAX

EXACT = 1e-5


def served(folder: Path) -> nn.Module:
    """Returns the network of a folder that was written."""
    saved = read_model(folder)
    module = build_module(saved.factory, saved.kwargs, seed=5)
    from_arrays(module, saved.arrays)
    return module


def difference(module: nn.Module, told: dict[str, Any]) -> dict[str, float]:
    """Returns the largest difference of each answer that was told."""
    spec = spec_of(module)
    seen = [torch.from_numpy(told[name].astype(leaf.dtype)) for name, leaf in
            zip(spec.inputs.columns("observation"), spec.inputs.leaves, strict=True)]  # fmt: skip
    with torch.no_grad():
        (*inputs, value), _ = call(module, spec, seen, [])
    ours: dict[str, Any] = {"value": value, "logits": torch.cat([x.log_softmax(1) for x in inputs], 1)}
    ours["chances"] = torch.stack([x.softmax(1)[:, -1] for x in inputs], 1)
    ours["mean"], ours["log_std"] = inputs[0].chunk(2, 1) if inputs[0].shape[1] % 2 == 0 else (None, None)
    leaf = spec.actions.leaves[0]
    if isinstance(leaf, EpsilonGreedy):
        ours["values"] = inputs[0][:, :-1]
    if isinstance(leaf, SquashedGaussian):
        ours["squashed"] = ours["mean"].tanh()
        ours["log_std"] = ours["log_std"].clamp(-20, SAC_LOG_STD_MAX)  # As there; ours is wider.
    greedy = [one.act(x.numpy(), np.full((len(x), one.draws), np.nan), None).actions
              for one, x in zip(spec.actions.leaves, inputs, strict=True)]  # fmt: skip
    ours["actions"] = greedy[0] if spec.actions.single else np.stack(greedy, 1)
    names = [name for name in told if not name.startswith("observation")]
    return {name: float(np.abs(np.asarray(ours[name]) - told[name]).max()) for name in names}
