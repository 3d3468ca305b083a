import pytest
import torch
from torch import nn

from app.algorithms.target_network import track
from app.algorithms.td3 import clipped_double_q_target, deterministic_policy_loss, smoothed

LOW, HIGH = torch.tensor([-1.0, 0.0]), torch.tensor([1.0, 10.0])


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def test_noise_has_its_size_in_each_dimension_and_stays_within_its_clip_and_the_bounds() -> None:
    middle = torch.tensor([[0.0, 5.0]]).expand(20_000, 2)
    got = smoothed(middle, LOW, HIGH, 0.2, 0.5, generator()) - middle
    torch.testing.assert_close(got.std(0), torch.tensor([0.2, 1.0]), rtol=0.03, atol=0)
    assert (got.abs() <= torch.tensor([0.5, 2.5]) + 1e-6).all()
    edge = smoothed(HIGH.expand(1000, 2), LOW, HIGH, 0.2, 0.5, generator())
    assert (edge <= HIGH).all()
    assert (edge < HIGH).any()


def test_without_noise_the_action_is_the_policys() -> None:
    action = torch.tensor([[0.3, 4.0]])
    assert smoothed(action, LOW, HIGH, 0.0, 0.5, generator()) is action


def test_the_target_takes_the_smallest_critic_and_nothing_behind_an_end() -> None:
    got = clipped_double_q_target(
        torch.tensor([1.0, 1.0]), torch.tensor([0.5, 0.0]), torch.tensor([[4.0, 4.0], [2.0, 9.0]])
    )
    assert got.tolist() == [2.0, 1.0]


def test_the_policy_climbs_the_critic_on_the_rows_that_count() -> None:
    q = torch.tensor([2.0, 5.0], requires_grad=True)
    loss = deterministic_policy_loss(q, torch.tensor([1.0, 0.0]))
    loss.backward()  # type: ignore[no-untyped-call]
    assert q.grad is not None
    assert (loss.item(), q.grad.tolist()) == (-2.0, [-1.0, 0.0])


def test_a_target_network_moves_by_its_share_and_copies_buffers() -> None:
    slow, fast = nn.BatchNorm1d(1), nn.BatchNorm1d(1)
    fast.weight.data.fill_(3.0)
    fast.running_mean = torch.tensor([7.0])
    track(slow, fast, 0.25)
    assert slow.weight.item() == 1.5
    assert slow.running_mean is not None
    assert slow.running_mean.item() == 7.0
    assert fast.weight.item() == 3.0


def test_a_rate_outside_its_range_is_refused() -> None:
    with pytest.raises(ValueError, match=r"rate in \[0, 1\], got 1.5"):
        track(nn.Linear(1, 1), nn.Linear(1, 1), 1.5)
