"""The loss of AlphaZero by hand, and a policy that learns what a search found."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from app.algorithms.alpha_zero import expected_log_prob
from app.algorithms.estimators import Gae
from app.algorithms.imitation import Cloning
from app.algorithms.learner import PolicyLearner, PolicySettings
from app.models.spec import ModelSpec
from app.types import RowKind
from tests.plain_stepper import plain_stepper
from tests.small_policy import SmallPolicy, TablePolicy, small_policy

SETTINGS = PolicySettings(Gae(1.0, 1.0), Cloning(0.0, 1.0, 2.0, 0.0), False, 1, 1, towards_target=True)


def test_the_expected_log_probability_by_hand() -> None:
    # p = (1/4, 3/4): 1/4 log 1/4 + 3/4 log 3/4, then log 1/4 alone, then nothing.
    logits = torch.tensor([[0.0, math.log(3)]]).expand(3, 2)
    target = torch.tensor([[0.25, 0.75], [1.0, 0.0], [0.0, 0.0]])
    got = expected_log_prob(logits, target, None)
    torch.testing.assert_close(got, torch.tensor([-0.5623351446, -1.3862943611, 0.0]))


def test_what_is_not_allowed_takes_no_part() -> None:
    logits = torch.tensor([[0.0, 50.0, 0.0]], requires_grad=True)
    got = expected_log_prob(logits, torch.tensor([[0.5, 0.0, 0.5]]), torch.tensor([[True, False, True]]))
    torch.testing.assert_close(got, torch.tensor([-math.log(2)]))
    got.sum().backward()
    assert logits.grad is not None
    assert torch.equal(logits.grad, torch.zeros(1, 3))  # The policy is the target: nothing is left to learn.


def test_a_target_of_another_shape_is_refused() -> None:
    with pytest.raises(ValueError, match=r"\(2, 3\) and the target \(2, 2\)"):
        expected_log_prob(torch.zeros(2, 3), torch.zeros(2, 2), None)


@given(st.integers(0, 2**32))
def test_the_gradient_is_policy_minus_target(seed: int) -> None:
    draw = torch.Generator().manual_seed(seed)
    logits = torch.randn(4, 5, generator=draw, dtype=torch.float64, requires_grad=True)
    target = torch.rand(4, 5, generator=draw, dtype=torch.float64).softmax(-1)
    (-expected_log_prob(logits, target, None)).sum().backward()
    torch.testing.assert_close(logits.grad, logits.detach().softmax(-1) - target)


def game(target: list[list[float]]) -> dict[str, Tensor]:
    """Returns a game of two steps that is won, and its bootstrap row; both times the second action was taken."""
    rows = 3
    return {
        "observation": torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]),
        "action": torch.ones(rows, dtype=torch.int64),
        "action_mask": torch.ones(rows, 2, dtype=torch.uint8),
        "reward": torch.tensor([0.0, 1.0, 0.0]),
        "log_prob": torch.zeros(rows),
        "kind": torch.tensor([RowKind.STEP, RowKind.STEP, RowKind.TERMINATED], dtype=torch.int8),
        "weight": torch.tensor([1.0, 1.0, 0.0]),
        "policy_target": torch.tensor([*target, [0.0, 0.0]]),
    }


def targeted(spec: ModelSpec) -> ModelSpec:
    return replace(spec, policy_target=True)


def learner(module: TablePolicy | SmallPolicy, rate: float, *, spec: ModelSpec | None = None) -> PolicyLearner:
    stepper = plain_stepper(module, torch.optim.SGD(module.parameters(), rate), 1e9)
    return PolicyLearner(module, spec or targeted(module.spec), stepper, SETTINGS, 1, lambda x: x)


def test_an_update_by_hand_follows_the_target_and_not_the_action() -> None:
    module = TablePolicy([0.0, 0.0])
    learned = learner(module, 0.1).update(game([[1.0, 0.0], [1.0, 0.0]]), torch.Generator())
    # p - π = (-1/2, 1/2) in each of two rows, so the mean is that as well: a step of 0.1 leads to (0.05, -0.05).
    torch.testing.assert_close(module.logits.detach(), torch.tensor([0.05, -0.05]))
    # Values are 1 and 0, the outcome is 1: half the squared error is 0 and 1/2, on average 1/4; -log p is log 2.
    assert learned.metrics["loss_value"] == pytest.approx(0.25)
    assert learned.metrics["loss_policy"] == pytest.approx(math.log(2))
    assert learned.metrics["loss_total"] == pytest.approx(math.log(2) + 2 * 0.25)


def test_rows_that_no_search_judged_teach_the_value_alone() -> None:
    module = small_policy(0)
    before = {name: x.clone() for name, x in module.state_dict().items()}
    learner(module, 0.1).update(game([[0.0, 0.0], [0.0, 0.0]]), torch.Generator())
    changed = {name for name, x in module.state_dict().items() if not torch.equal(x, before[name])}
    assert changed == {"critic.weight", "critic.bias"}


def test_policy_and_value_become_what_the_search_and_the_game_say() -> None:
    module, target = small_policy(1), [[0.9, 0.1], [0.2, 0.8]]
    learning = learner(module, 0.5)
    for _ in range(400):
        learning.update(game(target), torch.Generator())
    output = module(game(target)["observation"][:2])
    torch.testing.assert_close(output.dist_inputs.softmax(-1), torch.tensor(target), atol=0.01, rtol=0)
    np.testing.assert_allclose(output.value.detach(), [1, 1], atol=0.01)


def test_a_model_whose_rows_carry_no_target_is_refused() -> None:
    module = small_policy(0)
    with pytest.raises(ValueError, match="set policy_target: true"):
        learner(module, 0.1, spec=module.spec)
