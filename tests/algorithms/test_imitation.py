import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from app.algorithms.imitation import (
    Cloning,
    advantage_weights,
    behaviour_cloning_loss,
    conservative_penalty,
    expectile_loss,
)
from app.algorithms.worth import Worth


def test_cloning_is_the_likelihood_of_the_rows_that_count() -> None:
    assert behaviour_cloning_loss(torch.tensor([-0.5, -9.0]), torch.tensor([1.0, 0.0])).item() == 0.5


def test_better_actions_weigh_more_up_to_a_bound() -> None:
    got = advantage_weights(torch.tensor([0.0, 1.0, -1.0, 1e6]), 2.0, 100.0)
    torch.testing.assert_close(got, torch.tensor([1.0, 7.389056, 0.135335, 100.0]))
    assert advantage_weights(torch.tensor([3.0, -3.0]), 0.0, 100.0).tolist() == [1.0, 1.0]


def test_the_penalty_is_what_all_choices_exceed_the_recorded_one_by() -> None:
    q, action = torch.tensor([[0.0, 0.0, 0.0], [1.0, 2.0, 3.0]]), torch.tensor([0, 2])
    got = conservative_penalty(q, action, torch.tensor([1.0, 0.0]))
    assert got.item() == pytest.approx(1.0986123)
    masked = conservative_penalty(q[:1], action[:1], torch.ones(1), torch.tensor([[True, False, False]]))
    assert masked.item() == pytest.approx(0.0)


def test_the_penalty_pushes_the_recorded_choice_up_and_the_others_down() -> None:
    q = torch.zeros(1, 3, requires_grad=True)
    conservative_penalty(q, torch.tensor([1]), torch.ones(1)).backward()  # type: ignore[no-untyped-call]
    assert q.grad is not None
    torch.testing.assert_close(q.grad, torch.tensor([[1 / 3, -2 / 3, 1 / 3]]))


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=6))
def test_the_middle_expectile_is_half_the_squared_error(errors: list[float]) -> None:
    error = torch.tensor(errors, dtype=torch.float64)
    got = expectile_loss(error, 0.5, torch.ones_like(error))
    assert got.item() == pytest.approx(0.5 * error.square().sum().item())


def test_a_high_expectile_lies_near_the_best_and_is_where_its_gradient_vanishes() -> None:
    values = torch.tensor([0.0, 1.0, 2.0, 10.0])
    guess = torch.tensor(5.0, requires_grad=True)
    optimizer = torch.optim.SGD([guess], 0.02)
    for _ in range(2000):
        optimizer.zero_grad()
        expectile_loss(values - guess, 0.9, torch.ones(4)).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    over, under = (values - guess).clamp(min=0).sum(), (guess - values).clamp(min=0).sum()
    assert (0.9 * over).item() == pytest.approx((0.1 * under).item(), rel=1e-3)
    assert guess.item() > values.mean().item()


def worth(advantage: list[float], target: list[float], weight: list[float]) -> Worth:
    return Worth(torch.zeros(len(weight)), torch.tensor(advantage), torch.tensor(target), torch.tensor(weight))


def test_cloning_by_hand() -> None:
    rows = worth([1.0, 100.0, 7.0], [2.0, 0.0, 0.0], [1.0, 1.0, 0.0])
    log_prob, entropy, value = torch.tensor([-0.5, -0.1, -9.0]), torch.ones(3), torch.tensor([1.0, 0.0, 9.0])
    plain = Cloning(0.0, 1.0, value_coef=0.0, entropy_coef=0.0)(log_prob, entropy, value, rows)
    assert plain.total.item() == plain.policy.item() == pytest.approx(0.6)
    weighted = Cloning(1.0, 20.0, value_coef=0.5, entropy_coef=0.1)(log_prob, entropy, value, rows)
    assert weighted.policy.item() == pytest.approx(math.e * 0.5 + 20 * 0.1)
    assert weighted.value.item() == pytest.approx(0.5)
    assert weighted.total.item() == pytest.approx(math.e * 0.5 + 2 + 0.25 - 0.2)
