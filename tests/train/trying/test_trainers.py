"""A trainer alone: updates from made-up games, through the queue or table of its config."""

from pathlib import Path
from typing import Any

import pytest

from app.config.load import load
from app.config.root import ExperimentConfig
from train.trying.trainers import try_trainer

CONFIGS = Path(__file__).parents[3] / "configs"


class Broken:
    """A learner that learns nothing and measures nonsense."""

    def __init__(self, training: Any) -> None:
        self.training = training

    def update(self, batch: Any, shuffle: Any) -> Any:
        from app.algorithms.contract import Learned  # noqa: PLC0415

        return Learned({"loss_total": float("nan")})

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: Any) -> None:
        pass


def config(name: str, *overrides: str) -> ExperimentConfig:
    return load(CONFIGS / f"{name}.yaml", overrides)


SMALL = ("trainers.main.inputs.0.batch_rows=64", "trainers.main.inputs.0.algorithm.minibatch_rows=32")


@pytest.mark.parametrize("name", ["rl", "impala", "ppo_recurrent", "trpo"])
def test_a_policy_learns_from_made_up_games(name: str) -> None:
    report = try_trainer(config(name, *SMALL), "main", updates=2)
    assert report.problems == ()
    assert "grad_norm" in str(report.facts["inputs.0"]) or "kl" in str(report.facts["inputs.0"])


def test_values_learn_from_a_table() -> None:
    small = ("trainers.main.inputs.0.batch_rows=128",)
    assert try_trainer(config("dqn", *small), "main", updates=2).problems == ()


def test_an_algorithm_is_tried_by_its_path() -> None:
    report = try_trainer(config("base"), "tests.train.trying.test_trainers:Broken", updates=1)
    assert report.problems == ("loss_total of inputs.0 is nan", "no parameter has changed")


def test_sources_that_are_not_there_are_a_problem(tmp_path: Path) -> None:
    missing = config("imitation", f"sources.demos.path={tmp_path}/none")
    (problem,) = try_trainer(missing, "main").problems
    assert "there is no file" in problem
