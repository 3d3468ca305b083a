from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from app.algorithms.combined_estimators import Upgoing
from app.algorithms.estimators import Estimator, Gae, Played, VTrace
from app.algorithms.learner import PolicyLearner, PolicySettings
from app.algorithms.ppo import ClippedPolicy
from app.algorithms.value_heads import Head, PerHead, told, weighted
from app.algorithms.vtrace import Clips
from app.models.module import spec_of
from app.models.networks.policy import build
from app.types import RowKind
from tests.plain_stepper import plain_stepper

from .test_learner import identity, shuffle

STEP, FULL, TERMINATED, TRUNCATED, LOST = RowKind
KINDS = torch.tensor([STEP, STEP, TERMINATED, STEP, TRUNCATED], dtype=torch.int8)
REWARD = torch.tensor([[1.0, 0.0], [2.0, 4.0], [0.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
VALUE = torch.tensor([[0.5, 1.0], [1.0, 2.0], [9.0, 9.0], [0.0, 3.0], [2.0, 4.0]])
HEADS = (Head("win", 1.0), Head("health", -0.5))


def played(reward: Tensor = REWARD, value: Tensor = VALUE, log_ratio: Tensor | None = None) -> Played:
    return Played(reward, KINDS, value, log_ratio)


def test_each_head_has_advantages_and_targets_by_its_own_discount() -> None:
    found = PerHead((Gae(0.5, 1.0), Gae(1.0, 0.0)))(played())
    # win, γ 0.5 and λ 1: 2 - 1; 1 + 0.5 · 1 - 0.5 + 0.5 · 1; 0 + 0.5 · 2 - 0.
    assert found.advantage[:, 0].tolist() == [1.5, 1.0, 0.0, 1.0, 0.0]
    # health, γ 1 and λ 0: 0 + 2 - 1; 4 - 2; 1 + 4 - 3.
    assert found.advantage[:, 1].tolist() == [1.0, 2.0, 0.0, 2.0, 0.0]
    assert found.target_value.tolist() == [[2.0, 2.0], [2.0, 4.0], [0.0, 0.0], [1.0, 5.0], [0.0, 0.0]]
    assert weighted(found.advantage, HEADS).tolist() == [1.0, 0.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    "one", [Gae(0.9, 0.8), VTrace(0.9, 0.7, Clips(rho=1.5)), Upgoing(VTrace(0.9, 0.7, Clips()), 0.9, 0.3)], ids=repr
)
def test_each_head_gets_what_its_reward_alone_would(one: Estimator) -> None:
    log_ratio = torch.tensor([0.4, -0.6, 0.0, 0.8, 0.0])
    both = PerHead((one, one))(played(log_ratio=log_ratio))
    for at in range(2):
        alone = one(played(REWARD[:, at], VALUE[:, at], log_ratio))
        assert torch.equal(both.advantage[:, at], alone.advantage)
        assert torch.equal(both.target_value[:, at], alone.target_value)


numbers = st.lists(st.floats(-5, 5, width=32), min_size=15, max_size=15)


@given(numbers, numbers, st.lists(st.floats(-2, 2, width=32), min_size=3, max_size=3), st.booleans())
def test_heads_of_one_discount_are_one_head_on_the_weighted_rewards(
    rewards: list[float], values: list[float], weights: list[float], traced: bool
) -> None:
    reward, value = (torch.tensor(x).reshape(5, 3) for x in (rewards, values))
    heads = tuple(Head(name, weight) for name, weight in zip("abc", weights, strict=True))
    one = VTrace(0.9, 0.8, Clips(rho=1.3)) if traced else Gae(0.9, 0.8)
    log_ratio = torch.tensor([0.5, -0.3, 0.0, 0.2, 0.0])
    several = PerHead((one, one, one))(played(reward, value, log_ratio))
    alone = one(played(weighted(reward, heads), weighted(value, heads), log_ratio))
    torch.testing.assert_close(weighted(several.advantage, heads), alone.advantage, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(weighted(several.target_value, heads), alone.target_value, rtol=1e-4, atol=1e-4)


def test_what_does_not_fit_the_heads_is_refused() -> None:
    with pytest.raises(ValueError, match=r"2 value heads need rewards and values \[5, 2\], got \[5\] and \[5, 2\]"):
        PerHead((Gae(0.9, 0.8), Gae(0.9, 0.8)))(played(reward=REWARD[:, 0]))


def test_metrics_bear_the_names_of_the_heads() -> None:
    assert told("x", torch.tensor([1.0, 2.0]), HEADS) == {"x/win": 1.0, "x/health": 2.0}
    assert told("x", torch.tensor(3.0), ()) == {"x": 3.0}


def network(rewards: tuple[str, ...] = ("win", "health"), **more: Any) -> nn.Module:
    torch.manual_seed(3)
    return build({"shape": [2]}, {"choices": 2}, encoder={"kind": "mlp", "hidden": []}, rewards=rewards, **more)


def batch() -> dict[str, Tensor]:
    draw = torch.Generator().manual_seed(0)
    return {
        "observation": torch.randn(5, 2, generator=draw),
        "action": torch.tensor([0, 1, 0, 1, 0]),
        "action_mask": torch.ones(5, 2, dtype=torch.uint8),
        "reward": REWARD,
        "log_prob": torch.full((5,), -0.7),
        "kind": KINDS,
        "weight": (KINDS == STEP).float(),
    }


def learner(
    module: nn.Module, heads: tuple[Head, ...], estimator: Estimator, value_coef: float = 0.5, *, normalise: bool = True
) -> PolicyLearner:
    loss = ClippedPolicy(clip_epsilon=0.2, value_coef=value_coef, entropy_coef=0.0, value_clip=0.5)
    settings = PolicySettings(estimator, loss, normalise=normalise, epochs=2, minibatches=1, heads=heads)
    stepper = plain_stepper(module, torch.optim.SGD(module.parameters(), 0.1), 1e9)
    return PolicyLearner(module, spec_of(module), stepper, settings, 1, identity)


def test_an_update_tells_errors_and_explained_variance_of_each_head() -> None:
    module = network()
    with torch.no_grad():
        value = module(batch()["observation"]).value
    estimate = PerHead((Gae(0.5, 1.0), Gae(1.0, 0.0)))(played(value=value))
    metrics = learner(module, HEADS, PerHead((Gae(0.5, 1.0), Gae(1.0, 0.0)))).update(batch(), shuffle()).metrics
    counted = KINDS == STEP
    error = (estimate.target_value - value)[counted].square().mean(0)
    variance = estimate.target_value[counted].var(0, correction=0)
    for at, name in enumerate(("win", "health")):
        assert metrics[f"explained_variance/{name}"] == pytest.approx(float(1 - error[at] / variance[at]), rel=1e-4)
        assert metrics[f"value_error/{name}"] > 0
    both = metrics["value_error/win"] + metrics["value_error/health"]
    assert both <= metrics["loss_value"] * (1 + 1e-6)  # Which is clipped, and so the larger one.


@pytest.mark.parametrize("normalise", [True, False])
def test_a_policy_with_heads_moves_as_one_on_the_weighted_rewards(normalise: bool) -> None:
    several, alone = network(), network(())
    with torch.no_grad():
        alone.value.weight.copy_(weighted(several.value.weight.T, HEADS)[None])
        alone.value.bias.copy_(weighted(several.value.bias[None], HEADS))
        alone.heads.load_state_dict(several.heads.state_dict())
    both = PerHead((Gae(0.9, 0.8), Gae(0.9, 0.8)))
    learner(several, HEADS, both, 0.0, normalise=normalise).update(batch(), shuffle())
    one = learner(alone, (), Gae(0.9, 0.8), 0.0, normalise=normalise)
    one.update(batch() | {"reward": weighted(REWARD, HEADS)}, shuffle())
    for mine, theirs in zip(several.heads.parameters(), alone.heads.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs)


def test_popart_has_a_scale_for_each_head() -> None:
    module = network(popart=0.5)
    big = batch() | {"reward": REWARD * torch.tensor([1.0, 1000.0])}
    metrics = learner(module, HEADS, PerHead((Gae(0.9, 0.8), Gae(0.9, 0.8)))).update(big, shuffle()).metrics
    assert metrics["value_deviation/health"] > 100 * metrics["value_deviation/win"]
    assert module.value.deviation.tolist() == pytest.approx(
        [metrics["value_deviation/win"], metrics["value_deviation/health"]]
    )


def test_settings_name_the_rewards_that_the_model_names() -> None:
    with pytest.raises(ValueError, match="it names the rewards"):
        learner(network(), HEADS[::-1], Gae(0.9, 0.8))
