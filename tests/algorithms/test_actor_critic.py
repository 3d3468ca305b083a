import pytest
import torch

from app.algorithms.actor_critic import ActorCritic
from app.algorithms.worth import Worth

LOSS = ActorCritic(value_coef=0.5, entropy_coef=0.1)


def test_the_loss_is_the_sum_over_the_rows_that_count() -> None:
    batch = Worth(
        torch.zeros(3), torch.tensor([2.0, -1.0, 9.0]), torch.tensor([1.0, 3.0, 9.0]), torch.tensor([1.0, 1.0, 0.0])
    )
    got = LOSS(torch.tensor([-0.5, -2.0, 7.0]), torch.tensor([0.6, 0.2, 7.0]), torch.tensor([0.0, 1.0, 7.0]), batch)
    assert got.policy.item() == pytest.approx(-(-0.5 * 2 + -2.0 * -1))
    assert got.value.item() == pytest.approx(0.5 * (1 + 4))
    assert got.entropy.item() == pytest.approx(0.8)
    assert got.total.item() == pytest.approx(-1.0 + 0.5 * 2.5 - 0.1 * 0.8)


def test_a_good_action_becomes_more_probable_and_targets_carry_no_gradient() -> None:
    log_prob, value = torch.tensor([-1.0], requires_grad=True), torch.tensor([0.0], requires_grad=True)
    advantage, target = torch.tensor([3.0], requires_grad=True), torch.tensor([2.0], requires_grad=True)
    batch = Worth(torch.zeros(1), advantage, target, torch.ones(1))
    LOSS(log_prob, torch.zeros(1), value, batch).total.backward()  # type: ignore[no-untyped-call]
    assert log_prob.grad is not None
    assert value.grad is not None
    assert (log_prob.grad.item(), value.grad.item()) == (-3.0, -1.0)
    assert advantage.grad is None
    assert target.grad is None


def test_unlike_shapes_are_refused() -> None:
    batch = Worth(torch.zeros(2), torch.zeros(2), torch.zeros(2), torch.zeros(2))
    with pytest.raises(ValueError, match=r"one shape \[B\]"):
        LOSS(torch.zeros(2), torch.zeros(2), torch.zeros(2, 1), batch)
