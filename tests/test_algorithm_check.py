"""What a config says of an algorithm is refused where it does not fit the model, or the trainer around it."""

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from app.config.algorithms import Algorithm
from app.config.training import TrainerConfig
from app.model_check import untrainable
from app.models.networks.policy import build

BOTH = {"win": {}, "health": {"weight": 0.3, "gamma": 0.9}}


def problem(algorithm: dict[str, Any], **network: Any) -> str | None:
    module = build({"shape": [3]}, {"choices": 2}, **network)
    return untrainable(TypeAdapter[Algorithm](Algorithm).validate_python(algorithm), module)


@pytest.mark.parametrize("kind", ["ppo", "a2c", "impala", "appo"])
def test_algorithms_that_learn_from_their_own_games_have_heads(kind: str) -> None:
    assert problem({"kind": kind, "heads": BOTH}, rewards=["win", "health"]) is None


@pytest.mark.parametrize(
    ("heads", "rewards", "message"),
    [
        ({}, ["win", "health"], "algorithm.heads names nothing; allowed are exactly its rewards: win, health"),
        ({"win": {}}, ["win", "health"], "algorithm.heads names win; allowed are exactly its rewards: win, health"),
        ({**BOTH, "gold": {}}, ["win", "health"], "algorithm.heads names win, health, gold; allowed are exactly"),
        (BOTH, [], "algorithm.heads names win, health, and it names no rewards; set rewards in its kwargs"),
    ],
)
def test_heads_that_are_not_those_of_the_model_are_refused(
    heads: dict[str, Any], rewards: list[str], message: str
) -> None:
    got = problem({"kind": "ppo", "heads": heads}, rewards=rewards)
    assert got is not None
    assert message in got


@pytest.mark.parametrize("kind", ["bc", "marwil", "alpha_zero"])
def test_algorithms_of_one_value_refuse_a_model_that_names_rewards(kind: str) -> None:
    got = problem({"kind": kind}, rewards=["win", "health"], policy_target=kind == "alpha_zero")
    assert got == f"it names the rewards win, health, and {kind} learns one value; allowed is a model without names"


def test_weights_that_would_move_nothing_are_refused() -> None:
    with pytest.raises(ValidationError, match="all weights are 0"):
        problem({"kind": "ppo", "heads": {"win": {"weight": 0}, "health": {"weight": 0}}})
    with pytest.raises(ValidationError, match="finite"):
        problem({"kind": "ppo", "heads": {"win": {"weight": float("nan")}, "health": {}}})


def test_trpo_refuses_a_policy_that_shares_layers_with_its_value() -> None:
    got = problem({"kind": "trpo"})
    assert got is not None
    assert "its policy and its value share encoder." in got
    assert problem({"kind": "trpo"}, value={}) is None
    assert problem({"kind": "trpo", "heads": BOTH}, value={}, rewards=["win", "health"]) is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"inputs": [{"source": "s", "algorithm": {"kind": "trpo"}}]}, "got source 's'; allowed is a buffer"),
        ({"strategy": {"kind": "fsdp"}}, "trpo moves the policy whole, which strategy fsdp splits; allowed are ddp"),
        ({"mixing": {"steps": "together"}}, "together with trpo, whose policy is moved by no sum of losses"),
    ],
)
def test_trpo_refuses_what_would_not_move_its_policy_whole(changes: dict[str, Any], message: str) -> None:
    trainer = {"model": "m", "inputs": [{"buffer": "b", "algorithm": {"kind": "trpo"}}]}
    TrainerConfig.model_validate(trainer)
    with pytest.raises(ValidationError, match=message):
        TrainerConfig.model_validate(trainer | changes)
