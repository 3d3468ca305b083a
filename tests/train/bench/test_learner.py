"""What windows of learning say."""

import pytest
import torch

from train.bench.learner import LearnerPlan, rates_of, told_rates
from train.bench.learner_steps import bare, batch, product, trainer
from train.bench.learner_worker import LIMIT, STRATEGIES, WorkerPlan, parsed, written
from train.launch.stopping import Stopper
from train.strategies.strategy import Place


def test_a_strategy_is_told_as_a_share_of_the_limit() -> None:
    told = told_rates(2, {LIMIT: [100.0] * 5, "ddp": [80.0] * 5, "fsdp": [10.0, 20.0, 50.0, 90.0, 100.0]})
    assert told["workers"] == 2
    first, second = told["strategies"]  # type: ignore[misc]
    assert (first["strategy"], first["ratio"], first["measured"]) == ("ddp", 0.8, True)  # type: ignore[index]
    assert second["measured"] is False  # type: ignore[index]  # Too far apart.


def test_few_windows_are_not_measured() -> None:
    told = told_rates(1, {LIMIT: [100.0] * 4, "ddp": [80.0] * 4})
    assert told["strategies"][0]["measured"] is False  # type: ignore[index]


def test_a_plan_travels_as_text() -> None:
    plan = WorkerPlan(2, 5, 1.0, 256, 0.5, ("ddp", "fsdp"))
    assert parsed(written(plan)) == plan


def test_product_and_limit_learn_from_the_same_rows() -> None:
    config = trainer({}, 1, 256)
    for update in (product(config, 0.01, Place()), bare(config, 0.01, Place())):
        update()
    columns = batch(256, torch.device("cpu"))
    assert {len(column) for column in columns.values()} == {256}
    assert columns["weight"].sum() == 256 - 4  # Each 64th row is no step.


def test_every_strategy_has_a_config() -> None:
    assert all(trainer(dict(strategy), 2, 256).strategy for strategy in STRATEGIES.values())
    assert LearnerPlan().strategies == tuple(STRATEGIES)


@pytest.mark.slow
def test_two_workers_measure_each_contender() -> None:
    found = rates_of(WorkerPlan(2, 1, 0.05, 256, 0.01, ("ddp", "fsdp")), Stopper())
    assert found.keys() == {LIMIT, "ddp", "fsdp"}
    assert all(len(windows) == 1 and windows[0] > 0 for windows in found.values())
