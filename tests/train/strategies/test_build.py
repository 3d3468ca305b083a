"""What a trainer's config becomes, and what is refused."""

import pytest
import torch
from pydantic import ValidationError

from app.errors import CheckpointError, ConfigError, PluginError
from tests.small_policy import small_policy
from tests.train.runs import Run, trainer
from train.strategies.build import wrap
from train.strategies.precision import precision_problem
from train.strategies.strategy import Place, TrainedState


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"strategy": {"kind": "local_multi_gpu"}}, "got num_gpus 0, allowed: 2 or more"),
        ({"strategy": {"kind": "local_multi_gpu"}, "num_gpus": 2, "workers": 2}, "is one process, got workers 2"),
        ({"strategy": {"kind": "deepspeed", "stage": 3}}, "with stage 3 moves tensors to and from a GPU"),
        ({"strategy": {"kind": "deepspeed", "offload": True}}, "with offload moves tensors to and from a GPU"),
        ({"strategy": {"kind": "deepspeed", "stage": 0, "offload": True}, "num_gpus": 1}, "got stage 0 with offload"),
        (
            {"strategy": {"kind": "deepspeed", "stage": 3}, "num_gpus": 1, "optimizer": {"ema_decay": 0.9}},
            "ema_decay averages whole weights",
        ),
        ({"strategy": {"kind": "deepspeed"}, "precision": "fp16"}, "takes precision fp32 or bf16, got fp16"),
    ],
)
def test_what_cannot_be_run_so_is_refused_with_a_reason(settings: dict[str, object], reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        trainer(**settings)


def test_on_gpus_the_same_is_allowed() -> None:
    assert trainer(strategy={"kind": "local_multi_gpu"}, num_gpus=2).num_gpus == 2
    assert trainer(strategy={"kind": "deepspeed", "stage": 3, "offload": True}, num_gpus=1).num_gpus == 1


def test_a_precision_without_autocast_is_refused() -> None:
    assert precision_problem("bf16", torch.device("cpu")) is None
    problem = precision_problem("fp16", torch.device("meta"))
    assert problem == "precision fp16 needs autocast, which torch does not have on meta; allowed: fp32"
    with pytest.raises(ConfigError, match="does not have on meta"):
        wrap(trainer(precision="fp16"), small_policy(), Place(device=torch.device("meta")))


def test_shard_modules_that_name_nothing_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"'encoder\.\*' names no submodule; there are critic, policy"):
        wrap(trainer(strategy={"kind": "fsdp", "shard_modules": ["encoder.*"]}), small_policy(), Place())


def no_optimizer(parameters: object, lr: float) -> object:
    return map(str, [lr])


def test_an_optimizer_that_is_none_is_refused() -> None:
    with pytest.raises(PluginError, match="must return a torch optimizer, got map"):
        wrap(
            trainer(optimizer={"kind": "custom", "factory": "tests.train.strategies.test_build:no_optimizer"}),
            small_policy(),
            Place(),
        )


def test_the_split_optimizer_of_deepspeed_is_not_taken_for_another() -> None:
    state = TrainedState({}, {"stage": 2, "parts": [{}, {}]})
    with pytest.raises(CheckpointError, match="go on with strategy deepspeed and as many workers"):
        wrap(trainer(), small_policy(), Place()).load(state)


def test_state_of_a_parameter_that_is_not_there_is_named() -> None:
    run = Run().train(1)
    progress = run.progress()
    assert progress is not None
    progress.trained.optimizer["state"]["policy.scale"] = {}
    with pytest.raises(CheckpointError, match=r"of the parameters policy\.scale, which the network does not have"):
        Run().trained.load(progress.trained)


def test_a_resumed_run_takes_the_learning_rate_of_the_config() -> None:
    progress = Run(trainer(optimizer={"kind": "sgd", "learning_rate": 0.5})).train(1).progress()
    assert progress is not None
    run = Run(trainer(optimizer={"kind": "sgd", "learning_rate": 1e-30}))
    run.module.load_state_dict(progress.trained.model)
    run.trained.load(progress.trained)
    before = run.module.policy.bias.clone()
    run.train(1)
    assert torch.equal(run.module.policy.bias, before)
