import pytest
import torch

from app.algorithms.sac import (
    DiscretePolicy,
    critic_loss,
    policy_loss,
    policy_loss_discrete,
    soft_target,
    soft_value,
    soft_value_discrete,
    temperature_loss,
)

TEMPERATURE = torch.tensor(0.5)


def test_a_soft_value_is_the_smallest_critic_and_the_entropy() -> None:
    q, log_prob = torch.tensor([[3.0, 1.0], [2.0, 4.0]]), torch.tensor([-1.0, 2.0])
    assert soft_value(q, log_prob, TEMPERATURE).tolist() == [2.5, 0.0]


def test_for_choices_it_is_the_expectation_and_a_forbidden_one_has_no_part() -> None:
    policy = DiscretePolicy(torch.tensor([[0.25, 0.75, 0.0]]), torch.tensor([[0.25, 0.75, 1.0]]).log())
    policy = policy._replace(log_probs=torch.cat([policy.log_probs[:, :2], torch.tensor([[-3e38]])], 1))
    q = torch.tensor([[[1.0, 2.0, 99.0]], [[5.0, 0.0, 99.0]]])
    entropy = -(0.25 * torch.tensor(0.25).log() + 0.75 * torch.tensor(0.75).log())
    wanted = 0.25 * 1 + 0.75 * 0 + 0.5 * entropy
    assert soft_value_discrete(q, policy, TEMPERATURE).item() == pytest.approx(wanted.item())


def test_a_terminated_game_is_worth_its_reward() -> None:
    got = soft_target(torch.tensor([1.0, 1.0]), torch.tensor([0.0, 0.9]), torch.tensor([10.0, 10.0]))
    assert got.tolist() == pytest.approx([1.0, 10.0])


def test_the_policy_follows_the_gradient_of_the_critic_through_its_action() -> None:
    action = torch.tensor([1.0, 5.0], requires_grad=True)
    q = torch.stack([3 * action, 2 * action])  # The smaller one rules where actions are positive.
    policy_loss(q, 0.1 * action, TEMPERATURE, torch.tensor([1.0, 0.0])).backward()
    assert action.grad is not None
    assert action.grad.tolist() == pytest.approx([-(2 - 0.5 * 0.1), 0.0])


def test_the_discrete_policy_settles_at_the_softmax_of_the_values() -> None:
    q = torch.tensor([[[1.0, 2.0, 0.5]], [[1.5, 2.0, 0.0]]])
    logits = torch.zeros(1, 3, requires_grad=True)
    optimizer = torch.optim.Adam([logits], 0.1)
    for _ in range(300):
        optimizer.zero_grad()
        policy = DiscretePolicy(logits.softmax(-1), logits.log_softmax(-1))
        policy_loss_discrete(q, policy, TEMPERATURE, torch.ones(1)).backward()
        optimizer.step()
    wanted = (q.min(0).values / TEMPERATURE).softmax(-1)
    torch.testing.assert_close(logits.detach().softmax(-1), wanted, atol=1e-3, rtol=0)


@pytest.mark.parametrize(("entropy", "rises"), [(0.2, True), (0.8, False)])
def test_the_temperature_rises_while_the_entropy_is_too_small(entropy: float, rises: bool) -> None:
    log_temperature = torch.zeros((), requires_grad=True)
    temperature_loss(log_temperature, torch.tensor([entropy, 99.0]), 0.5, torch.tensor([1.0, 0.0])).backward()
    assert log_temperature.grad is not None
    assert (log_temperature.grad.item() < 0) == rises
    assert log_temperature.grad.item() == pytest.approx(entropy - 0.5)


def test_the_critics_loss_is_half_their_squared_errors_on_the_rows_that_count() -> None:
    q = torch.tensor([[1.0, 7.0], [3.0, 7.0]])
    assert critic_loss(q, torch.tensor([2.0, 0.0]), torch.tensor([1.0, 0.0])).item() == 1.0
