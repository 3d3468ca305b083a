"""What an optimizer's config becomes."""

from collections.abc import Callable

import pytest
import torch
from torch import nn

from app.config.optimizers import Optimizer
from app.errors import PluginError
from tests.train.runs import trainer
from train.strategies.optimizers import load_optimizer, make_optimizer, saved_optimizer, step_settings


def settings(**fields: object) -> Optimizer:
    return trainer(optimizer=fields).optimizer


def halving(base: float) -> Callable[[int], float]:
    return lambda steps: base**steps


@pytest.mark.parametrize(
    ("fields", "kind", "expected"),
    [
        ({}, torch.optim.Adam, {"lr": 5e-4, "eps": 1e-5, "betas": (0.9, 0.999)}),
        ({"kind": "adamw", "weight_decay": 0.1, "beta_2": 0.95}, torch.optim.AdamW, {"weight_decay": 0.1}),
        ({"kind": "sgd", "momentum": 0.9, "nesterov": True}, torch.optim.SGD, {"momentum": 0.9, "nesterov": True}),
        ({"kind": "rmsprop", "decay": 0.9, "learning_rate": 0.1}, torch.optim.RMSprop, {"alpha": 0.9, "lr": 0.1}),
        (
            {"kind": "custom", "factory": "torch.optim:NAdam", "kwargs": {"momentum_decay": 0.5}},
            torch.optim.NAdam,
            {"momentum_decay": 0.5, "lr": 5e-4},
        ),
    ],
)
def test_each_kind_is_torchs_with_the_settings(
    fields: dict[str, object], kind: type[torch.optim.Optimizer], expected: dict[str, object]
) -> None:
    made = make_optimizer(settings(**fields), nn.Linear(1, 1).parameters())
    assert type(made) is kind
    assert {name: made.param_groups[0][name] for name in expected} == expected


@pytest.mark.parametrize(
    ("schedule", "factors"),
    [
        ({"kind": "constant"}, [0.5, 1.0, 1.0, 1.0]),
        ({"kind": "linear", "decay_optimizer_steps": 2}, [0.5, 1.0, 1.0, 0.5]),
        ({"kind": "exponential", "factor": 0.25, "every_optimizer_steps": 2}, [0.5, 1.0, 1.0, 0.5]),
        (
            {"kind": "custom", "factory": "tests.train.strategies.test_optimizers:halving", "kwargs": {"base": 0.5}},
            [0.5, 1.0, 1.0, 0.5],
        ),
    ],
)
def test_schedules_begin_behind_the_warm_up(schedule: dict[str, object], factors: list[float]) -> None:
    made = step_settings(settings(schedule=schedule, warmup_optimizer_steps=2)).schedule
    assert [made(steps) for steps in range(4)] == pytest.approx(factors)


def test_a_schedule_that_is_no_function_is_refused() -> None:
    wrong = {"kind": "custom", "factory": "builtins:dict"}
    with pytest.raises(PluginError, match="must return a function of optimizer steps, got dict"):
        step_settings(settings(schedule=wrong))


def test_state_is_kept_by_the_names_of_the_parameters() -> None:
    module = nn.Sequential(nn.Linear(2, 1), nn.Linear(1, 1, bias=False))
    optimizer = torch.optim.Adam(reversed(list(module.parameters())), 0.1)
    module(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    saved = saved_optimizer(module, optimizer)
    assert saved["state"].keys() == {"0.weight", "0.bias", "1.weight"}
    assert saved["groups"][0]["params"] == ["1.weight", "0.bias", "0.weight"]
    other = torch.optim.Adam(module.parameters(), 0.5)
    load_optimizer(module, other, saved, groups=False)
    assert torch.equal(other.state[module[0].weight]["exp_avg"], optimizer.state[module[0].weight]["exp_avg"])
    assert other.param_groups[0]["lr"] == 0.5


def test_a_loaded_state_is_a_copy() -> None:
    module = nn.Linear(1, 1)
    optimizer = torch.optim.SGD(module.parameters(), 0.1, momentum=0.9)
    module(torch.ones(1, 1)).sum().backward()
    optimizer.step()
    saved = saved_optimizer(module, optimizer)
    before = saved["state"]["weight"]["momentum_buffer"].clone()
    load_optimizer(module, optimizer, saved, groups=True)
    optimizer.step()
    assert torch.equal(saved["state"]["weight"]["momentum_buffer"], before)
