"""CartPole that pays a thousand a tick, learned in this process by IMPALA; docs/algorithms.md has the figures."""

from typing import Any

import gymnasium
import pytest

from tests.proofs.learning import Learning

pytestmark = pytest.mark.slow
PAID = 1000.0
NETWORK = "{observation: {shape: [4]}, action: {choices: 2}, encoder: {kind: mlp, hidden: [64, 64]}, popart: %s}"


def pays_a_thousand() -> gymnasium.Env[Any, Any]:
    return gymnasium.wrappers.TransformReward(gymnasium.make("CartPole-v1"), lambda reward: PAID * float(reward))


def learned(popart: str, *changes: str) -> float:
    """Returns the ticks that 50 evaluated games last after 16,000 ticks of learning."""
    model = f"models.main={{factory: 'app.models.networks.policy:build', kwargs: {NETWORK % popart}}}"
    whole = Learning("impala.yaml", 0, make_env=pays_a_thousand, changes=[model, *changes])
    return whole.run(16_000, promising=1e12).mean_return / PAID


def test_without_a_scale_large_rewards_drown_the_policy() -> None:
    assert learned("null") < 80


def test_popart_learns_them() -> None:
    assert learned("0.02") > 80


def test_normalised_rewards_are_learned() -> None:
    assert learned("null", "trainers.main.inputs.0.rewards={normalise: true}") > 120


def test_upgoing_returns_with_a_value_of_their_own_lambda_learn_them() -> None:
    own = ("upgo_coef=1.0", "value_lambda=0.8")
    assert learned("0.02", *(f"trainers.main.inputs.0.algorithm.{one}" for one in own)) > 120
