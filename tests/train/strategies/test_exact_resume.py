"""A run that goes on in another process is bit for bit the uninterrupted one, with any optimizer and strategy."""

import json
from pathlib import Path

import pytest

from tests.train.strategies.workers import outputs

pytestmark = pytest.mark.slow

PROGRAM = "tests.train.strategies.rank_program"
WARM = {"schedule": {"kind": "cosine", "decay_optimizer_steps": 20}, "warmup_optimizer_steps": 20}
"""The checkpoint falls into the warm-up, or behind it where minibatches are not accumulated."""
TRPO = {"buffer": "rollouts", "batch_rows": 40, "algorithm": {"kind": "trpo", "minibatch_rows": 20}}
GAIL = {
    "buffer": "rollouts",
    "batch_rows": 40,
    "algorithm": {"kind": "gail", "expert": "demos", "minibatch_rows": 20},
}
"""And a network and an optimizer of its own."""
OPTIMIZERS: dict[str, dict[str, object]] = {
    "adam": {"optimizer": {"kind": "adam"}},
    "adamw_schedule": {"optimizer": {"kind": "adamw", **WARM}},
    "sgd_momentum_ema": {"optimizer": {"kind": "sgd", "learning_rate": 0.05, "momentum": 0.9, "ema_decay": 0.9}},
    "rmsprop": {"optimizer": {"kind": "rmsprop", "max_grad_norm": None}},
    "accumulated": {"optimizer": {"accumulate_minibatches": 4, "ema_decay": 0.9}},  # 18 minibatches: 2 wait.
    "accumulated_whole": {"optimizer": {"accumulate_minibatches": 3}},  # 18 minibatches: none waits.
    "bf16": {"precision": "bf16"},
    "fp16": {"precision": "fp16", "optimizer": WARM},
    "custom": {"optimizer": {"kind": "custom", "factory": "torch.optim:NAdam"}},
}
LEARNERS: dict[str, dict[str, object]] = {
    "trpo": {"inputs": [TRPO], "optimizer": {"kind": "adamw"}},
    "gail": {"inputs": [GAIL]},
}


STRATEGIES: dict[str, tuple[dict[str, object], tuple[str, ...]]] = {
    "ddp": ({"kind": "ddp"}, (*OPTIMIZERS, *LEARNERS)),
    "fsdp": ({"kind": "fsdp"}, (*OPTIMIZERS, "gail")),
    "zero_0": ({"kind": "deepspeed", "stage": 0}, ("adam",)),
    "zero_1": ({"kind": "deepspeed", "stage": 1}, ("adamw_schedule",)),
    "zero_2": ({"kind": "deepspeed"}, ("adam", "adamw_schedule", "sgd_momentum_ema", "accumulated_whole", "bf16")),
}


def cases() -> dict[str, dict[str, object]]:
    """Returns all settings of a trainer that are tried, by name."""
    return {
        f"{name} {optimizer}": {"strategy": strategy, **(OPTIMIZERS | LEARNERS)[optimizer]}
        for name, (strategy, optimizers) in STRATEGIES.items()
        for optimizer in optimizers
    }


def digests(folder: Path, what: str, count: int, tried: dict[str, dict[str, object]]) -> dict[str, str]:
    """Returns the digest of each case."""
    printed = outputs(PROGRAM, count, str(folder), what, json.dumps(tried))[0]
    found = [line.partition("digest: ")[2] for line in printed.splitlines() if line.startswith("digest: ")]
    return dict(json.loads(line) for line in found)


@pytest.mark.parametrize("count", [1, 2])
def test_a_resumed_run_is_bit_for_bit_the_uninterrupted_one(count: int, tmp_path: Path) -> None:
    uninterrupted = digests(tmp_path, "begin", count, cases())
    assert uninterrupted.keys() == cases().keys()
    for strategy, (_, optimizers) in STRATEGIES.items():  # They do not all do the same.
        assert len({uninterrupted[f"{strategy} {name}"] for name in optimizers}) == len(optimizers)
    assert digests(tmp_path, "resume", count, cases()) == uninterrupted


def test_what_two_workers_with_ddp_have_saved_one_and_fsdp_go_on_with(tmp_path: Path) -> None:
    digests(tmp_path, "begin", 2, {"adam": OPTIMIZERS["accumulated"]})
    assert digests(tmp_path, "resume", 2, {"adam": {"strategy": {"kind": "fsdp"}, **OPTIMIZERS["accumulated"]}})
    assert digests(tmp_path, "resume", 1, {"adam": OPTIMIZERS["accumulated"]})
