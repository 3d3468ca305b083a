"""A network alone: shapes, finite answers, speed."""

import torch
from torch import Tensor

from app.config.models import ModelConfig
from app.config.root import ExperimentConfig, Run
from app.models.module import PolicyOutput
from tests.small_policy import SmallPolicy
from train.trying.models import try_model

CONFIG = ExperimentConfig(
    run=Run(project="a", trial="b"), models={"main": ModelConfig(factory="tests.small_policy:SmallPolicy")}
)
QUICK_S = 0.01


class Rooted(SmallPolicy):
    """Has no answer to numbers below zero."""

    def forward(self, observation: Tensor) -> PolicyOutput:
        logits, _, _ = super().forward(observation)
        return PolicyOutput(logits, torch.sqrt(observation[:, 0]))


class Wrong(SmallPolicy):
    """Answers in another shape than it tells."""

    def forward(self, observation: Tensor) -> PolicyOutput:
        return PolicyOutput(observation, observation[:, 0])


def test_a_network_is_shown_with_its_shapes_and_speeds() -> None:
    report = try_model(CONFIG, "main", QUICK_S)
    assert report.problems == ()
    assert report.facts["parameters"] == 2 * 2 + 2 + 2 + 1
    assert "Categorical(choices=2" in str(report.facts["action"])
    assert all(isinstance(speed := report.facts[f"rows_per_s_{n}"], float) and speed > 0 for n in (1, 32, 256))


def test_an_answer_that_is_not_finite_is_a_problem() -> None:
    report = try_model(CONFIG, "tests.train.trying.test_models:Rooted", QUICK_S)
    assert report.problems[0] == "the answer to normal numbers is not finite"
    assert "the answer to zeros is not finite" not in report.problems


def test_a_network_that_breaks_its_word_is_a_problem() -> None:
    small = ModelConfig(factory="tests.train.trying.test_models:Wrong", kwargs={"inputs": 3})
    report = try_model(CONFIG.model_copy(update={"models": {"main": small}}), "main", QUICK_S)
    assert report.problems
    assert report.facts == {}


def test_a_factory_that_raises_is_a_problem() -> None:
    report = try_model(CONFIG, "tests.train.trying.test_models:missing", QUICK_S)
    assert "has no 'missing'" in report.problems[0]
