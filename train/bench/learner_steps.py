"""What ``bench learner`` repeats: an update by the product, and the bare torch step."""

from collections.abc import Callable
from functools import partial
from typing import Final

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from app.config.training import TrainerConfig
from app.models.module import build_module, spec_of
from app.types import RowKind
from train.learning import make_learner
from train.strategies.build import wrap
from train.strategies.strategy import Place

POLICY: Final = "train.bench.policy:build"
UNROLL_ROWS: Final = 64
"""Rows of a trajectory in the batches."""
EPOCHS: Final = 4
"""Passes over a batch."""
CLIP: Final = 0.2
VALUE_COEF: Final = 0.5
LEARNING_RATE: Final = 5e-4
MAX_GRAD_NORM: Final = 0.5

Update = Callable[[], None]
"""Learns from one batch."""


def trainer(strategy: dict[str, object], workers: int, rows: int, num_gpus: int = 0) -> TrainerConfig:
    """Returns the config of a trainer with PPO's defaults, four minibatches a pass."""
    algorithm = {"kind": "ppo", "minibatch_rows": rows // 4, "epochs": EPOCHS}
    inputs = [{"buffer": "rows", "batch_rows": rows, "algorithm": algorithm}]
    settings = {"model": "main", "inputs": inputs, "workers": workers, "strategy": strategy, "num_gpus": num_gpus}
    return TrainerConfig.model_validate(settings)


def batch(rows: int, device: torch.device) -> dict[str, Tensor]:
    """Returns a batch of trajectories for the benchmark's policy, on a device."""
    source = torch.Generator().manual_seed(1)
    kind = torch.full((rows,), int(RowKind.STEP), dtype=torch.int8)
    kind[UNROLL_ROWS - 1 :: UNROLL_ROWS] = int(RowKind.FULL)
    kind[-1] = int(RowKind.FULL)
    columns = {
        "observation": torch.randn(rows, 4, generator=source),
        "action": torch.randint(0, 2, (rows,), generator=source),
        "action_mask": torch.ones(rows, 2, dtype=torch.uint8),
        "reward": torch.randn(rows, generator=source),
        "log_prob": torch.full((rows,), -0.7),
        "kind": kind,
        "weight": (kind == int(RowKind.STEP)).float(),
    }
    return {name: column.to(device) for name, column in columns.items()}


def product(config: TrainerConfig, size_mb: float, place: Place) -> Update:
    """Returns updates as the training loop does them, by the config's strategy."""
    module = build_module(POLICY, {"mb": size_mb}, seed=1)
    trained = wrap(config, module, place)
    learner = trained.learner(partial(make_learner, config.inputs[0], spec_of(module)))
    columns, numbers = batch(config.inputs[0].batch_rows, place.device), iter(range(2**31))

    def update() -> None:
        learner.update(columns, torch.Generator().manual_seed(next(numbers)))

    return update


def bare(config: TrainerConfig, size_mb: float, place: Place) -> Update:
    """Returns as many optimizer steps on as many rows in plain torch: no returns, no metrics, no shuffling."""
    module = build_module(POLICY, {"mb": size_mb}, seed=1).to(place.device)
    called: nn.Module = DistributedDataParallel(module) if place.workers > 1 else module
    optimizer = torch.optim.Adam(module.parameters(), LEARNING_RATE, fused=True)
    wanted = config.inputs[0]
    columns = batch(wanted.batch_rows, place.device)
    rows = wanted.algorithm.minibatch_rows

    def update() -> None:
        for _ in range(EPOCHS):
            for begin in range(0, wanted.batch_rows, rows):
                optimizer.zero_grad(set_to_none=True)
                _loss(called, {name: x[begin : begin + rows] for name, x in columns.items()}).backward()  # type: ignore[no-untyped-call]
                nn.utils.clip_grad_norm_(module.parameters(), MAX_GRAD_NORM)
                optimizer.step()

    return update


def _loss(module: nn.Module, part: dict[str, Tensor]) -> Tensor:
    answer = module(part["observation"])
    log_prob = answer.dist_inputs.log_softmax(-1).gather(1, part["action"][:, None]).squeeze(1)
    ratio, advantage = (log_prob - part["log_prob"]).exp(), part["reward"]
    policy = torch.minimum(ratio * advantage, ratio.clamp(1 - CLIP, 1 + CLIP) * advantage)
    value = (answer.value - part["reward"]).square()
    loss: Tensor = (part["weight"] * (VALUE_COEF * value - policy)).mean()
    return loss
