import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit
from torch import Tensor, nn

from app.algorithms.adversarial import (
    Adversarial,
    AdversarialSettings,
    Adversary,
    Expert,
    RewardKind,
    discriminator_loss,
    imitation_reward,
    make_discriminator,
)
from app.algorithms.contract import Learned
from app.errors import CheckpointError, PluginError
from app.models.module import spec_of
from app.types import RowKind
from tests.algorithms.kinds import rows_of
from tests.algorithms.test_learner import Tick, batch_of, identity, learner_of, shuffle
from tests.algorithms.test_rewards import Remembering
from tests.small_policy import small_policy

SETTINGS = AdversarialSettings("paper", epochs=1, minibatches=1, learning_rate=0.01)
STEP, FULL, TERMINATED, TRUNCATED, LOST = RowKind
logits = st.lists(st.floats(-30, 30), min_size=1, max_size=6)


class Odds(nn.Module):
    """Log-odds weight · first number of the state + bias · action."""

    def __init__(self) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.tensor(0.5)), nn.Parameter(torch.tensor(-0.25))

    def forward(self, observation: Tensor, action: Tensor) -> Tensor:
        return self.weight * observation[:, 0] + self.bias * action


def test_the_loss_is_the_cross_entropy_by_hand() -> None:
    """Odds 1 and 3 for the expert, 1 for the policy: -log ½ - log ¾ - log ½."""
    got = discriminator_loss(torch.tensor([0.0, math.log(3)]), torch.tensor([0.0]))
    assert got.item() == pytest.approx(2 * math.log(2) + math.log(4 / 3))


@given(logits, logits, st.floats(0, 0.4))
def test_the_loss_is_the_papers(expert: list[float], own: list[float], smoothing: float) -> None:
    """Of D = expit(-logit), which the paper's discriminator gives moves of the policy: Σ log D + Σ log(1 - D)."""
    got = discriminator_loss(torch.tensor(expert).double(), torch.tensor(own).double(), smoothing)
    d_expert, d_own = np.array(expert), np.array(own)
    label = 1 - smoothing
    wanted = -(label * np.log(expit(d_expert)) + smoothing * np.log(expit(-d_expert))).sum()
    wanted -= (label * np.log(expit(-d_own)) + smoothing * np.log(expit(d_own))).sum()
    assert got.item() == pytest.approx(wanted, rel=1e-6, abs=1e-9)


def test_rewards_by_hand() -> None:
    """At odds 3 the expert did it with chance ¾: -log ¼, and log 3."""
    odds = torch.tensor([math.log(3), 0.0])
    assert imitation_reward(odds, "paper").tolist() == pytest.approx([math.log(4), math.log(2)])
    assert imitation_reward(odds, "log_odds").tolist() == pytest.approx([math.log(3), 0.0])


@given(st.lists(st.floats(-20, 20), min_size=2, max_size=6))
def test_a_move_that_looks_more_like_the_experts_pays_more(odds: list[float]) -> None:
    for kind in ("paper", "log_odds"):
        paid = imitation_reward(torch.tensor(sorted(odds)).double(), kind)  # type: ignore[arg-type]
        assert (paid.diff() >= 0).all()
    chance = expit(np.array(sorted(odds)))
    torch.testing.assert_close(
        imitation_reward(torch.tensor(sorted(odds)).double(), "paper"), torch.from_numpy(-np.log1p(-chance)), rtol=1e-4,
        atol=1e-6,
    )  # fmt: skip


def expert_of(states: list[list[float]], actions: list[int]) -> Expert:
    return Expert([torch.tensor(states)], [torch.tensor(actions)])


def made(
    expert: Expert, settings: AdversarialSettings = SETTINGS, workers: int = 1, reduce_sum: Any = identity
) -> tuple[Adversarial, Remembering, Odds]:
    inner, network = Remembering(), Odds()
    adversary = Adversary(network, expert)
    return (
        Adversarial(inner, spec_of(small_policy()), adversary, settings, workers, reduce_sum),
        inner,
        network,
    )


def batch(*ticks: Tick, episode: int = 1) -> dict[str, Tensor]:
    rows = batch_of(ticks, small_policy())
    return rows | {"episode": torch.full((len(ticks),), episode), "tick": torch.arange(len(ticks))}


TWO = (Tick([2.0, 0.0], 1, 7.0), Tick([-1.0, 0.0], 0, -3.0), Tick([9.0, 0.0], kind=TERMINATED))


def test_the_policy_is_paid_by_the_discriminator_and_both_are_told() -> None:
    still = AdversarialSettings("log_odds", epochs=0, minibatches=1, learning_rate=0.01)
    learner, inner, _ = made(expert_of([[0.0, 0.0]], [0]), still)
    metrics = learner.update(batch(*TWO), shuffle()).metrics
    assert inner.rewards == [[0.75, -0.5, 0.0]]  # ½ · 2 - ¼ · 1, ½ · -1, and nothing in the bootstrap row.
    assert (metrics["reward"], metrics["reward_imitation"]) == (2.0, 0.125)
    assert (metrics["return"], metrics["return_imitation"]) == (4.0, 0.25)


def test_the_first_step_of_the_discriminator_by_hand() -> None:
    """Adam's first step goes the learning rate against the sign of the gradient."""
    learner, inner, network = made(expert_of([[3.0, 0.0]], [0]))
    metrics = learner.update(batch(*TWO), shuffle()).metrics
    expert, own = 0.5 * 3, [0.5 * 2 - 0.25, -0.5]
    loss = 2 * math.log1p(math.exp(-expert)) + sum(math.log1p(math.exp(x)) for x in own)
    assert metrics["loss_discriminator"] == pytest.approx(loss / 2, rel=1e-5)
    assert (metrics["expert_recognised"], metrics["own_recognised"]) == (1.0, 0.5)
    weight_slope = -2 * 3 * expit(-expert) + 2 * expit(own[0]) - 1 * expit(own[1])
    bias_slope = 1 * expit(own[0])
    assert network.weight.item() == pytest.approx(0.5 - 0.01 * np.sign(weight_slope), abs=1e-5)
    assert network.bias.item() == pytest.approx(-0.25 - 0.01 * np.sign(bias_slope), abs=1e-5)
    paid = math.log1p(math.exp(2 * network.weight.item() + network.bias.item()))
    assert inner.rewards[0][0] == pytest.approx(paid, rel=1e-5)  # By what it has learned from this very batch.


def test_what_the_game_pays_changes_nothing_that_is_learned() -> None:
    rich = tuple(tick._replace(reward=1e6) for tick in TWO)
    rewards = []
    for ticks in (TWO, rich):
        learner, inner, _ = made(expert_of([[3.0, 0.0]], [0]))
        learner.update(batch(*ticks), shuffle())
        rewards.append(inner.rewards)
    assert rewards[0] == rewards[1]


def test_rows_that_do_not_count_teach_the_discriminator_nothing() -> None:
    quiet, alone = made(expert_of([[3.0, 0.0]], [0])), made(expert_of([[3.0, 0.0]], [0]))
    whole = batch(*TWO, Tick([50.0, 0.0], 1), Tick([0.0, 0.0], kind=FULL))
    whole["weight"][3] = 0
    quiet[0].update(whole, shuffle())
    alone[0].update(batch(*TWO), shuffle())
    for mine, other in zip(quiet[2].parameters(), alone[2].parameters(), strict=True):
        torch.testing.assert_close(mine, other)


def test_a_batch_without_rows_that_count_teaches_nothing() -> None:
    learner, _, network = made(expert_of([[3.0, 0.0]], [0]))
    rows = batch(*TWO)
    rows["weight"][:] = 0
    assert learner.update(rows, shuffle()) == Learned({})
    assert network.weight.item() == 0.5


def test_a_restored_learner_goes_on_bit_by_bit() -> None:
    expert = expert_of([[3.0, 0.0], [1.0, 1.0]], [0, 1])
    whole, _, wanted = made(expert)
    restored, inner, got = made(expert)
    for update in range(3):
        whole.update(batch(*TWO, episode=update), shuffle(update))
        if update == 1:
            restored.load_state_dict({name: x.clone() for name, x in whole.state_dict().items()})
            inner.rewards = [[], []]
    restored.update(batch(*TWO, episode=2), shuffle(2))
    for mine, other in zip(got.parameters(), wanted.parameters(), strict=True):
        assert torch.equal(mine, other)
    assert whole.state_dict().keys() == restored.state_dict().keys()
    for name, x in whole.state_dict().items():
        assert torch.equal(restored.state_dict()[name], x), name


def test_a_state_of_another_learner_is_refused() -> None:
    learner, *_ = made(expert_of([[3.0, 0.0]], [0]))
    with pytest.raises(CheckpointError, match="the state is none of a discriminator, wrong are discriminator"):
        learner.load_state_dict({"shown": torch.tensor(0)})


class Together:
    """Workers that go in step: each is asked in its turn, by the sums that all had together before."""

    def __init__(self, sums: list[Tensor]) -> None:
        self.sums, self.own, self.at = sums, list[Tensor](), 0

    def __call__(self, x: Tensor) -> Tensor:
        self.own.append(x.clone())
        self.at += 1
        return self.sums[self.at - 1] if self.at <= len(self.sums) else x


def test_two_workers_have_one_discriminator() -> None:
    """Its step is the one that a worker alone takes on both batches."""
    expert = expert_of([[3.0, 0.0]], [0])
    other = (Tick([0.5, 0.0], 1, 1.0), Tick([0.2, 0.0], 1, 1.0), Tick([9.0, 0.0], kind=TERMINATED))
    mine, theirs = batch(*TWO), batch(*other, episode=2)
    alone, _, wanted = made(expert)
    alone.update({name: torch.cat([mine[name], theirs[name]]) for name in mine}, shuffle())
    known: list[Tensor] = []
    while True:  # Each round tells one more sum of both.
        both = [Together(known), Together(known)]
        workers = [made(expert, workers=2, reduce_sum=one) for one in both]
        for (learner, *_), rows in zip(workers, (mine, theirs), strict=True):
            learner.update(rows, shuffle())
        if len(known) == len(both[0].own):
            break
        known.append(both[0].own[len(known)] + both[1].own[len(known)])
    for _, _, network in workers:
        for got, whole in zip(network.parameters(), wanted.parameters(), strict=True):
            torch.testing.assert_close(got, whole)


@pytest.mark.parametrize("reward", ["paper", "log_odds"])
def test_a_policy_becomes_its_expert_where_length_pays_nothing(reward: RewardKind) -> None:
    """Games of one tick: the expert goes where the first number points."""
    rng = np.random.default_rng(0)
    states = torch.from_numpy(rng.normal(size=(512, 2)).astype(np.float32))
    right = (states[:, 0] > 0).long()
    module = small_policy()
    spec = spec_of(module)
    network = make_discriminator("app.models.networks.discriminator:build", {}, spec, 0)
    settings = AdversarialSettings(reward, epochs=1, minibatches=2, learning_rate=0.01)
    adversary = Adversary(network, Expert([states], [right]))
    learner = Adversarial(learner_of(module, rate=1.0), spec, adversary, settings, 1, identity)
    for update in range(60):
        seen = rng.normal(size=(128, 2)).astype(np.float32)
        with torch.no_grad():
            chosen = torch.distributions.Categorical(logits=module(torch.from_numpy(seen)).dist_inputs).sample()
        ticks = [
            tick
            for state, action in zip(seen.tolist(), chosen.tolist(), strict=True)
            for tick in (Tick(state, action), Tick(state, kind=TERMINATED))
        ]
        learner.update(
            batch_of(ticks, module) | {"episode": torch.zeros(256), "tick": torch.zeros(256)}, shuffle(update)
        )
    agreed = (module(states).dist_inputs.argmax(1) == right).float().mean()
    assert agreed > 0.95


def described(spec: object) -> str:
    return str(spec)


class TwoNumbers(nn.Module):
    def forward(self, observation: Tensor, action: Tensor) -> Tensor:
        return observation


def test_what_cannot_tell_them_apart_is_refused() -> None:
    spec = spec_of(small_policy())
    with pytest.raises(ValueError, match="got none of its moves"):
        made(Expert([torch.zeros(0, 2)], [torch.zeros(0, dtype=torch.int64)]))
    adversary = Adversary(TwoNumbers(), expert_of([[0.0, 0.0]], [0]))
    adversary.network.register_parameter("x", nn.Parameter(torch.zeros(())))
    with pytest.raises(ValueError, match=r"the discriminator returned \[1, 2\]; allowed is a number for each move"):
        Adversarial(Remembering(), spec, adversary, SETTINGS, 1, identity).update(batch(TWO[0], TWO[2]), shuffle())


@pytest.mark.parametrize(
    ("factory", "kwargs", "message"),
    [
        ("app.models.networks.discriminator:BYTE_MAX", {}, "is not callable, it is a float"),
        ("app.models.networks.discriminator:build", {"layers": 2}, "cannot be called with a ModelSpec and .*layers"),
        ("tests.algorithms.test_adversarial:described", {}, "returned a str; allowed is a torch module"),
    ],
)
def test_a_factory_that_makes_no_network_is_refused(factory: str, kwargs: Mapping[str, Any], message: str) -> None:
    with pytest.raises(PluginError, match=message):
        make_discriminator(factory, kwargs, spec_of(small_policy()), 0)


def test_a_discriminator_follows_from_its_seed() -> None:
    spec = spec_of(small_policy())
    first, again, other = (
        make_discriminator("app.models.networks.discriminator:build", {}, spec, s) for s in (1, 1, 2)
    )
    assert torch.equal(next(first.parameters()), next(again.parameters()))
    assert not torch.equal(next(first.parameters()), next(other.parameters()))


def test_batches_of_sequences_are_paid_in_their_own_shape() -> None:
    learner, inner, _ = made(expert_of([[3.0, 0.0]], [0]))
    rows = rows_of(spec_of(small_policy()), [(2, FULL), (2, TERMINATED)])
    rows["action"] %= 2
    whole = {name: x.unflatten(0, (2, 3)) for name, x in rows.items()}
    learner.update(whole, shuffle())
    paid = torch.tensor(inner.rewards[0])
    assert paid.shape == (2, 3)
    assert (paid[:, :2] > 0).all()
    assert (paid[:, 2] == 0).all()
