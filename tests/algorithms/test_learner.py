import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from app.algorithms.actor_critic import ActorCritic
from app.algorithms.estimators import Gae
from app.algorithms.gae import gae
from app.algorithms.imitation import Cloning
from app.algorithms.learner import PolicyLearner, PolicySettings
from app.algorithms.ppo import ClippedPolicy
from app.errors import CheckpointError, NonFiniteLossError
from app.models.distributions.categorical import choose, log_softmax
from app.models.module import PolicyOutput, spec_of
from app.models.networks.scaled_value import ScaledValue
from app.types import RowKind
from tests.plain_stepper import plain_stepper
from tests.small_policy import small_policy

SETTINGS = PolicySettings(
    estimator=Gae(0.9, 0.8),
    loss=ClippedPolicy(clip_epsilon=0.2, value_coef=0.5, entropy_coef=0.01),
    normalise=True,
    epochs=1,
    minibatches=1,
)
RATE = 0.1

Batch = dict[str, Tensor]


class Tick(NamedTuple):
    """One row; a bootstrap row where ``kind`` is not ``STEP``."""

    observation: Sequence[float]
    action: int = 0
    reward: float = 0.0
    kind: RowKind = RowKind.STEP
    mask: Sequence[int] = (1, 1)


TICKS = [
    Tick([1.0, 0.0], 0, 1.0),
    Tick([0.5, -1.0], 1, -2.0),
    Tick([0.2, 0.3], kind=RowKind.FULL),
    Tick([-1.0, 0.4], 1, 3.0),
    Tick([0.0, 0.0], kind=RowKind.TERMINATED),
    Tick([2.0, 1.0], 0, 0.5),
    Tick([0.1, -0.2], kind=RowKind.TRUNCATED),
]


def batch_of(ticks: Sequence[Tick], module: nn.Module) -> Batch:
    """Returns the batch that a module would have played."""
    observation = torch.tensor([tick.observation for tick in ticks], dtype=torch.float32)
    mask = np.array([tick.mask for tick in ticks], bool)
    action = torch.tensor([tick.action for tick in ticks])
    with torch.no_grad():
        log_probs = log_softmax(module(observation).dist_inputs.numpy(), mask)
    return {
        "observation": observation,
        "action": action,
        "action_mask": torch.from_numpy(mask.astype(np.uint8)),
        "reward": torch.tensor([tick.reward for tick in ticks]),
        "log_prob": torch.from_numpy(log_probs).gather(1, action[:, None]).squeeze(1),
        "kind": torch.tensor([int(tick.kind) for tick in ticks], dtype=torch.int8),
        "weight": torch.tensor([float(tick.kind is RowKind.STEP) for tick in ticks]),
    }


def identity(x: Tensor) -> Tensor:
    return x


def learner_of(
    module: nn.Module, settings: PolicySettings = SETTINGS, rate: float = RATE, max_grad_norm: float = 1e9
) -> PolicyLearner:
    stepper = plain_stepper(module, torch.optim.SGD(module.parameters(), rate), max_grad_norm)
    return PolicyLearner(module, spec_of(module), stepper, settings, 1, identity)


def shuffle(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def parameters_of(module: nn.Module) -> Tensor:
    return torch.cat([x.detach().flatten().clone() for x in module.parameters()])


def step_by_hand(module: nn.Module, batch: Batch, rate: float = RATE) -> Tensor:
    """Returns the parameters after one step of plain gradient descent on the mean loss, ratios being 1."""
    counted = batch["weight"] > 0
    value = module(batch["observation"]).value.detach()
    columns = batch["reward"].numpy(), value.numpy(), batch["kind"].numpy()
    advantage = torch.from_numpy(gae(*columns, 0.9, 0.8))[counted].double()
    target = advantage + value[counted]
    normal = (advantage - advantage.mean()) / advantage.std(correction=0)
    policy = torch.distributions.Categorical(logits=module(batch["observation"]).dist_inputs[counted])
    ratio = (policy.log_prob(batch["action"][counted]) - batch["log_prob"][counted]).exp()
    squares = (module(batch["observation"]).value[counted] - target).square()
    loss = (-ratio * normal + 0.5 * squares - 0.01 * policy.entropy()).mean()
    gradients = torch.autograd.grad(loss, list(module.parameters()))
    return parameters_of(module) - rate * torch.cat([g.flatten() for g in gradients]).float()


def test_an_update_is_one_step_down_the_mean_loss() -> None:
    module = small_policy()
    batch = batch_of(TICKS, module)
    expected = step_by_hand(module, batch)
    metrics = learner_of(module).update(batch, shuffle()).metrics
    torch.testing.assert_close(parameters_of(module), expected)
    assert metrics["optimizer_steps"] == 1
    assert metrics["clip_fraction"] == 0
    assert metrics["kl"] == pytest.approx(0, abs=1e-6)


def test_metrics_are_means_over_the_rows_that_count() -> None:
    module = small_policy()
    batch = batch_of(TICKS, module)
    columns = batch["reward"].numpy(), module(batch["observation"]).value.detach().numpy(), batch["kind"].numpy()
    advantage = gae(*columns, 0.9, 0.8)[[0, 1, 3, 5]]
    target = advantage + columns[1][[0, 1, 3, 5]]
    metrics = learner_of(module).update(batch, shuffle()).metrics
    assert metrics["loss_value"] == pytest.approx(np.square(advantage).mean(), rel=1e-5)
    assert metrics["explained_variance"] == pytest.approx(1 - np.square(advantage).mean() / target.var(), rel=1e-4)
    assert metrics["loss_policy"] == pytest.approx(0, abs=1e-6)  # Normalised advantages add up to nothing.


def test_rows_that_do_not_count_change_nothing() -> None:
    plain, padded = small_policy(), small_policy()
    rows = batch_of(TICKS, plain)
    garbage = [Tick([9e3, -9e3], 1, 1e6, RowKind.LOST), Tick([5.0, 5.0], 0, -1e6), Tick([4.0, 4.0], 1, 7, RowKind.FULL)]
    more = {name: torch.cat([x, batch_of(garbage, plain)[name]]) for name, x in rows.items()}
    more["weight"][len(TICKS) :] = 0  # Padding, and a trajectory that is too old.
    metrics = learner_of(plain).update(rows, shuffle()).metrics
    assert learner_of(padded).update(more, shuffle()).metrics == pytest.approx(metrics, rel=1e-5)
    torch.testing.assert_close(parameters_of(padded), parameters_of(plain))


def test_a_row_that_does_not_count_still_stands_in_its_trajectory() -> None:
    module = small_policy()
    batch = batch_of(TICKS, module)
    batch["weight"][1] = 0  # The reward of row 1 is what made row 0 bad.
    expected = step_by_hand(module, batch)
    learner_of(module).update(batch, shuffle())
    torch.testing.assert_close(parameters_of(module), expected)


def test_a_constant_added_to_all_rewards_does_not_change_the_policy() -> None:
    settings = replace(SETTINGS, loss=ClippedPolicy(0.2, 0.0, 0.0))
    plain, shifted = small_policy(), small_policy()
    single = [[Tick([0.1 * at, 1.0], at % 2, at % 5 / 4), Tick([0, 0], kind=RowKind.TERMINATED)] for at in range(40)]
    ticks = [tick for pair in single for tick in pair]
    far = [tick._replace(reward=tick.reward + 4096) for tick in ticks]
    learner_of(plain, settings).update(batch_of(ticks, plain), shuffle())
    learner_of(shifted, settings).update(batch_of(far, shifted), shuffle())
    torch.testing.assert_close(parameters_of(shifted), parameters_of(plain), rtol=1e-3, atol=1e-4)


def test_every_row_is_learned_from_once_an_epoch() -> None:
    settings = replace(SETTINGS, epochs=3, minibatches=2)
    module = small_policy()
    seen: list[Tensor] = []
    module.register_forward_pre_hook(lambda _, arguments: seen.append(arguments[0]))
    metrics = learner_of(module, settings).update(batch_of(TICKS, small_policy()), shuffle()).metrics
    assert metrics["optimizer_steps"] == 6
    minibatches = seen[1:]  # The first pass values the whole batch.
    assert [len(x) for x in minibatches] == [2] * 6
    rows = sorted(TICKS[at].observation for at in (0, 1, 3, 5))
    for epoch in range(3):
        got = torch.cat(minibatches[2 * epoch : 2 * epoch + 2]).tolist()
        assert sorted(got) == [pytest.approx(row) for row in rows]


def test_minibatches_follow_from_the_generator_alone() -> None:
    settings = replace(SETTINGS, epochs=2, minibatches=2)
    results = []
    for seed in (1, 1, 2):
        module = small_policy()
        learner_of(module, settings).update(batch_of(TICKS, module), shuffle(seed))
        results.append(parameters_of(module))
    assert torch.equal(results[0], results[1])
    assert not torch.equal(results[0], results[2])


def test_gradients_are_scaled_down_to_the_largest_norm() -> None:
    module = small_policy()
    before = parameters_of(module)
    metrics = learner_of(module, rate=1.0, max_grad_norm=0.01).update(batch_of(TICKS, module), shuffle()).metrics
    assert metrics["grad_norm"] > 0.01
    assert float((parameters_of(module) - before).norm()) == pytest.approx(0.01, rel=1e-3)


def test_a_batch_without_a_row_that_counts_teaches_nothing() -> None:
    module = small_policy()
    before = parameters_of(module)
    batch = batch_of(TICKS, module)
    batch["weight"].zero_()
    assert learner_of(module).update(batch, shuffle()) == ({}, None)
    assert torch.equal(parameters_of(module), before)


def test_a_single_row_teaches_its_value_and_no_policy() -> None:
    module = small_policy()
    ticks = [Tick([1.0, 0.0], 0, 5.0), Tick([0.0, 0.0], kind=RowKind.TERMINATED)]
    metrics = learner_of(module, replace(SETTINGS, minibatches=3)).update(batch_of(ticks, module), shuffle()).metrics
    assert metrics["optimizer_steps"] == 1  # The other two minibatches are empty on all workers.
    assert metrics["loss_policy"] == pytest.approx(0, abs=1e-6)
    assert metrics["loss_value"] > 1


@pytest.mark.parametrize("reward", [float("nan"), float("inf"), 3e38])
def test_a_reward_without_bound_stops_training_before_it_spreads(reward: float) -> None:
    module = small_policy()
    before = parameters_of(module)
    batch = batch_of(TICKS, module)
    batch["reward"][1] = reward
    with pytest.raises(NonFiniteLossError, match=r"gradient norm is (nan|inf).*rewards or observations without bound"):
        learner_of(module).update(batch, shuffle())
    assert torch.equal(parameters_of(module), before)


def test_a_row_with_one_legal_action_teaches_no_policy_and_its_gradient_is_finite() -> None:
    module = small_policy()
    with torch.no_grad():
        module.policy.bias[1] = 1e4  # What the mask hides is what the network wants most.
    policy = parameters_of(module.policy)
    ticks = [tick._replace(mask=(1, 0), action=0) for tick in TICKS]
    batch = batch_of(ticks, module)
    assert batch["log_prob"].tolist() == [0.0] * len(ticks)
    metrics = learner_of(module).update(batch, shuffle()).metrics
    assert metrics["entropy"] == 0
    assert metrics["kl"] == 0
    assert torch.equal(parameters_of(module.policy), policy)


def test_the_mask_of_acting_is_the_mask_of_learning() -> None:
    module = small_policy(actions=3)
    ticks = [tick._replace(mask=(1, 0, 1), action=2 * tick.action) for tick in TICKS]
    metrics = learner_of(module, rate=0.0).update(batch_of(ticks, module), shuffle()).metrics
    assert metrics["kl"] == pytest.approx(0, abs=1e-6)  # Without the mask the probabilities would differ.
    assert metrics["clip_fraction"] == 0
    assert 0 < metrics["entropy"] <= np.log(2) + 1e-6


def test_a_learner_finds_the_better_arm() -> None:
    module = small_policy()
    stepper = plain_stepper(module, torch.optim.Adam(module.parameters(), 0.05), 1e9)
    learner = PolicyLearner(module, spec_of(module), stepper, replace(SETTINGS, epochs=4), 1, identity)
    rng = np.random.default_rng(0)
    observation = np.ones((64, 2), np.float32)
    for update in range(15):
        with torch.no_grad():
            log_probs = log_softmax(module(torch.from_numpy(observation)).dist_inputs.numpy())
        actions = choose(log_probs, rng.random(64)).tolist()
        arms = [(Tick([1, 1], arm, float(arm)), Tick([1, 1], kind=RowKind.TERMINATED)) for arm in actions]
        learner.update(batch_of([tick for pair in arms for tick in pair], module), shuffle(update))
    output = module(torch.ones(1, 2))
    assert output.dist_inputs.softmax(-1)[0, 1].item() > 0.9
    assert output.value.item() > 0.6


class Workers:
    """Learners side by side in threads, whose sums and gradients meet as they do under DDP."""

    def __init__(self, count: int, max_grad_norm: float = 1e9, make: Callable[[], nn.Module] = small_policy) -> None:
        self.max_grad_norm = max_grad_norm
        self.modules = [make() for _ in range(count)]
        self._barrier = threading.Barrier(count, timeout=20)
        self._shared: list[Tensor] = [torch.empty(0)] * count

    def update(self, batches: Sequence[Batch], settings: PolicySettings) -> list[dict[str, float]]:
        found: list[dict[str, float]] = [{}] * len(batches)

        def work(rank: int) -> None:
            try:
                found[rank] = self._learner(rank, settings).update(batches[rank], shuffle(rank)).metrics
            except BaseException:
                self._barrier.abort()
                raise

        threads = [threading.Thread(target=work, args=(rank,)) for rank in range(len(batches))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return found

    def _learner(self, rank: int, settings: PolicySettings) -> PolicyLearner:
        module = self.modules[rank]
        for parameter in module.parameters():
            parameter.register_post_accumulate_grad_hook(self._averaging(rank))
        stepper = plain_stepper(module, torch.optim.SGD(module.parameters(), RATE), self.max_grad_norm)
        return PolicyLearner(
            module, spec_of(module), stepper, settings, len(self.modules), lambda x: self._sum(rank, x)
        )

    def _averaging(self, rank: int) -> Callable[[Tensor], None]:
        def average(parameter: Tensor) -> None:
            if parameter.grad is not None:
                parameter.grad = self._sum(rank, parameter.grad) / len(self.modules)

        return average

    def _sum(self, rank: int, x: Tensor) -> Tensor:
        self._shared[rank] = x.clone()
        self._barrier.wait()
        total = torch.stack(self._shared).sum(0)
        self._barrier.wait()
        return total


def joined(batches: Sequence[Batch]) -> Batch:
    return {name: torch.cat([batch[name] for batch in batches]) for name in batches[0]}


def masked(batch: Batch) -> Batch:
    return batch | {"weight": torch.zeros_like(batch["weight"])}


@pytest.mark.parametrize("second_counts", [True, False])
def test_two_workers_learn_what_one_learns_from_both_batches(second_counts: bool) -> None:
    settings = replace(SETTINGS, epochs=2)
    workers, alone = Workers(2, max_grad_norm=0.5), small_policy()
    first, second = batch_of(TICKS[:5], alone), batch_of(TICKS[5:], alone)
    batches = [first, second if second_counts else masked(second)]
    found = workers.update(batches, settings)
    expected = learner_of(alone, settings, max_grad_norm=0.5).update(joined(batches), shuffle()).metrics
    assert expected["optimizer_steps"] == 2
    for metrics, module in zip(found, workers.modules, strict=True):
        torch.testing.assert_close(parameters_of(module), parameters_of(alone), rtol=1e-5, atol=1e-6)
        assert metrics == pytest.approx(expected, rel=1e-4, abs=1e-6)


def test_workers_of_unlike_sizes_take_the_same_number_of_steps() -> None:
    settings = replace(SETTINGS, minibatches=3)
    workers, module = Workers(2), small_policy()
    batches = [batch_of(TICKS, module), batch_of(TICKS[5:], module)]  # 4 rows that count, and 1.
    found = workers.update(batches, settings)
    assert [metrics["optimizer_steps"] for metrics in found] == [3, 3]
    torch.testing.assert_close(parameters_of(workers.modules[0]), parameters_of(workers.modules[1]))


def test_workers_without_any_row_that_counts_agree_that_there_is_nothing_to_learn() -> None:
    workers, module = Workers(2), small_policy()
    assert workers.update([masked(batch_of(TICKS, module))] * 2, SETTINGS) == [{}, {}]
    assert torch.equal(parameters_of(workers.modules[0]), parameters_of(module))


def test_an_update_ends_once_the_policy_has_gone_too_far() -> None:
    module = small_policy()
    batch = batch_of(TICKS, module)
    stopped = replace(SETTINGS, epochs=50, largest_kl=0.01)
    metrics = learner_of(module, stopped, rate=1.0).update(batch, shuffle()).metrics
    assert 1 <= metrics["optimizer_steps"] < 10
    free = learner_of(small_policy(), replace(SETTINGS, epochs=10), rate=1.0).update(batch, shuffle()).metrics
    assert free["optimizer_steps"] == 10


def test_advantages_are_divided_by_a_running_scale_that_goes_on_after_a_restart() -> None:
    settings = replace(SETTINGS, normalise=False, running_scale=0.5, loss=Cloning(1.0, 20.0, 0.0, 0.0))
    first, second = learner_of(small_policy(), settings), learner_of(small_policy(), settings)
    batch = batch_of(TICKS, small_policy())
    first.update(batch, shuffle())
    second.load_state_dict(first.state_dict())
    assert first.state_dict()["advantage_mean_square"] > 0
    batch["reward"] *= 3
    assert (
        first.update(batch, shuffle()).metrics["loss_total"]
        != learner_of(small_policy(), settings).update(batch, shuffle()).metrics["loss_total"]
    )
    second.update(batch, shuffle())
    assert first.state_dict() == second.state_dict()


def test_a_state_of_another_learner_is_refused() -> None:
    with pytest.raises(CheckpointError, match=r"none of a policy learner, wrong are target\.weight"):
        learner_of(small_policy()).load_state_dict({"target.weight": torch.zeros(1)})


def test_cloning_finds_the_recorded_action_and_leaves_rows_that_do_not_count() -> None:
    module = small_policy()
    settings = replace(SETTINGS, normalise=False, epochs=60, loss=Cloning(0.0, 1.0, 0.0, 0.0))
    ticks = [tick._replace(action=int(tick.observation[0] > 0)) for tick in TICKS]
    batch = batch_of(ticks, module)
    wrong = batch_of([tick._replace(action=1 - tick.action) for tick in ticks], module)
    wrong["weight"].zero_()
    both = {name: torch.cat([batch[name], wrong[name]]) for name in batch}
    learner_of(module, settings, rate=0.5).update(both, shuffle())
    greedy = module(batch["observation"]).dist_inputs.argmax(1)
    counted = batch["weight"] > 0
    assert greedy[counted].tolist() == batch["action"][counted].tolist()


class ScaledPolicy(nn.Module):
    """A small policy whose value keeps a scale of its own."""

    def __init__(self, step_size: float) -> None:
        super().__init__()
        small = small_policy()
        self.spec = small.spec
        self.policy = small.policy
        self.value = ScaledValue(small.critic, step_size)

    def forward(self, observation: Tensor) -> PolicyOutput:
        return PolicyOutput(self.policy(observation), self.value(observation).squeeze(-1))


def test_a_scaled_value_takes_the_step_of_popart() -> None:
    """The gradient of (n - (target - mean) / deviation)² by the normalised output n, and scaled advantages."""
    module, settings = ScaledPolicy(0.5), replace(SETTINGS, normalise=False, loss=ActorCritic(0.5, 0.0))
    batch = batch_of(TICKS, module)
    value = module(batch["observation"]).value.detach()
    advantage = torch.from_numpy(gae(batch["reward"].numpy(), value.numpy(), batch["kind"].numpy(), 0.9, 0.8))
    counted = batch["weight"] > 0
    target = (advantage + value)[counted]
    expected = ScaledPolicy(0.5)
    expected.value.observe(expected.value.moments(target, torch.ones(4)))
    normal = (target - expected.value.shift) / expected.value.scale
    policy = torch.distributions.Categorical(logits=expected.policy(batch["observation"][counted]))
    gain = policy.log_prob(batch["action"][counted]) * advantage[counted] / expected.value.scale
    squares = (expected.value.head(batch["observation"][counted]).squeeze(-1) - normal).square()
    loss = (-gain + 0.5 * 0.5 * squares).mean()
    loss.backward()  # type: ignore[no-untyped-call]
    with torch.no_grad():
        for x in expected.parameters():
            x.sub_(RATE * x.grad)  # type: ignore[operator]
    metrics = learner_of(module, settings).update(batch, shuffle()).metrics
    torch.testing.assert_close(parameters_of(module), parameters_of(expected))
    assert metrics["value_deviation"] == pytest.approx(expected.value.deviation.item())
    assert metrics["loss_value"] == pytest.approx(0.5 * squares.mean().item(), rel=1e-5)


def test_returns_in_thousands_are_learned_as_fast_as_small_ones() -> None:
    explained = []
    for module in (ScaledPolicy(0.2), small_policy()):
        learner = learner_of(module, replace(SETTINGS, epochs=2), rate=0.05, max_grad_norm=0.5)
        batch = batch_of(TICKS, module)
        batch["reward"] = batch["reward"] * 5000
        for update in range(40):
            metrics = learner.update(batch, shuffle(update)).metrics
        explained.append(metrics["explained_variance"])
    assert explained[0] > 0.9
    assert explained[1] < 0.1


def test_advantages_that_are_normalised_know_no_scale_of_the_value() -> None:
    scaled, plain = ScaledPolicy(0.5), small_policy()
    settings = replace(SETTINGS, loss=ActorCritic(0.0, 0.0))
    for module in (scaled, plain):
        batch = batch_of(TICKS, module)
        batch["reward"] = batch["reward"] * 1000
        learner_of(module, settings).update(batch, shuffle())
    torch.testing.assert_close(parameters_of(scaled.policy), parameters_of(plain.policy))


def test_two_workers_share_the_scale_of_a_value() -> None:
    workers, alone = Workers(2, make=lambda: ScaledPolicy(0.5)), ScaledPolicy(0.5)
    batches = [batch_of(TICKS[:5], alone), batch_of(TICKS[5:], alone)]
    found = workers.update(batches, SETTINGS)
    expected = learner_of(alone).update(joined(batches), shuffle()).metrics
    for metrics, module in zip(found, workers.modules, strict=True):
        torch.testing.assert_close(parameters_of(module), parameters_of(alone), rtol=1e-5, atol=1e-6)
        assert metrics == pytest.approx(expected, rel=1e-4, abs=1e-6)
        assert metrics["value_deviation"] != 1.0
