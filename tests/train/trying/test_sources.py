"""A source alone: whether it fits a model, and what it holds."""

from collections.abc import Iterator

from app.config.models import ModelConfig
from app.config.root import ExperimentConfig, Run
from train.trying.sources import try_source

HERE = "tests.train.trying.test_sources"
CONFIG = ExperimentConfig(
    run=Run(project="a", trial="b"), models={"main": ModelConfig(factory="tests.small_policy:SmallPolicy")}
)


class Games:
    """Games of three steps that end."""

    def __init__(self, width: int) -> None:
        self.width = width

    def __iter__(self) -> Iterator[dict[str, object]]:
        for _ in range(10):
            seen = [[0.5] * self.width] * 4
            yield {"observation": seen, "action": [0, 1, 1], "reward": [0.0, 0.0, 3.0], "terminated": True}


def good() -> list[Games]:
    return [Games(2)]


def wide() -> list[Games]:
    return [Games(5)]


def test_a_source_is_shown_with_what_it_holds() -> None:
    report = try_source(CONFIG, f"{HERE}:good", rows=20, count=2)
    assert report.problems == ()
    assert (report.facts["rows"], report.facts["steps"], report.facts["reward_mean"]) == (40, 30, 1.0)
    assert report.facts["action_values"] == {"0": 10, "1": 20}


def test_rows_that_do_not_fit_the_model_are_a_problem() -> None:
    (problem,) = try_source(CONFIG, f"{HERE}:wide").problems
    assert "observation" in problem
    assert "(5,)" in problem


def test_another_model_can_be_named() -> None:
    assert try_source(CONFIG, f"{HERE}:good", model="tests.small_policy:small_policy", rows=20).problems == ()
