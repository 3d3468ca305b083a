import pytest
import torch

from app.algorithms.dqn import Transitions, double_q_target, greedy, q_loss


def transitions(discount: float = 0.9, weight: float = 1.0) -> Transitions:
    return Transitions(torch.tensor([1]), torch.tensor([2.0]), torch.tensor([discount]), torch.tensor([weight]))


def test_the_online_network_chooses_and_the_target_network_values() -> None:
    online, target = torch.tensor([[1.0, 5.0]]), torch.tensor([[7.0, 3.0]])
    assert double_q_target(transitions(), online, target).tolist() == pytest.approx([2 + 0.9 * 3])
    assert double_q_target(transitions(), target, target).tolist() == pytest.approx([2 + 0.9 * 7])


def test_a_terminated_game_is_worth_its_reward() -> None:
    assert double_q_target(transitions(0.0), torch.ones(1, 2), torch.full((1, 2), 9.0)).tolist() == [2.0]


def test_an_action_that_is_not_allowed_is_never_the_best() -> None:
    q, mask = torch.tensor([[-1e30, 5.0]]), torch.tensor([[True, False]])
    assert greedy(q, mask).tolist() == [0]
    assert double_q_target(transitions(1.0), q, torch.tensor([[4.0, 100.0]]), mask).tolist() == [6.0]


def test_the_loss_is_hubers_on_the_action_taken_and_weighted() -> None:
    q = torch.tensor([[10.0, 1.0]], requires_grad=True)
    got = q_loss(q, transitions(weight=0.5), torch.tensor([4.0]))
    assert got.error.tolist() == [3.0]
    assert got.total.item() == pytest.approx(0.5 * (3.0 - 0.5))
    got.total.backward()  # type: ignore[no-untyped-call]
    assert q.grad is not None
    assert q.grad.tolist() == [[0.0, -0.5]]


def test_targets_carry_no_gradient() -> None:
    target = torch.tensor([4.0], requires_grad=True)
    q_loss(torch.tensor([[0.0, 1.0]], requires_grad=True), transitions(), target).total.backward()  # type: ignore[no-untyped-call]
    assert target.grad is None


def test_unlike_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match=r"\[B, A\], \[B\] and \[B\]"):
        q_loss(torch.zeros(1, 2), transitions(), torch.zeros(1, 1))
