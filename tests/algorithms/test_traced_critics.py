from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from app.algorithms.critic_learner import CriticLearner, CriticSettings
from app.algorithms.critic_networks import CriticNetworks
from app.algorithms.critic_rules import SoftActorCritic
from app.algorithms.single_steps import single_steps
from app.algorithms.target_network import TargetSettings
from app.algorithms.traced_critics import Retrace
from app.models.networks.actor_critics import ActorCritics
from app.replay.n_step import n_step
from app.replay.rows import empty_batch
from app.replay.sequences import Sequences
from app.types import RowKind, Rows
from tests.algorithms.test_critic_learner import CHOICES, NUMBERS, network, parameters_of, shuffle
from tests.algorithms.transitions import LENGTH
from tests.plain_stepper import plain_stepper

GAMMA = 0.9
SAC = SoftActorCritic(None, 0.1)
ENDS = (RowKind.FULL, RowKind.TERMINATED, RowKind.TRUNCATED)


def learner_of(module: ActorCritics, lambda_: float | None, rate: float = 0.02) -> CriticLearner:
    stepper = plain_stepper(module, torch.optim.Adam(module.parameters(), rate), 1e9)
    trace = None if lambda_ is None else Retrace(SAC, lambda_)
    settings = CriticSettings(SAC, TargetSettings(None, 0.2), 1, GAMMA, trace)
    return CriticLearner(module, module.spec, stepper, settings, 1, lambda x: x)


def rows_of(module: ActorCritics, lengths: tuple[int, ...]) -> Rows:
    """Returns trajectories of so many random steps, each ending otherwise."""
    rng = np.random.default_rng(0)
    rows = empty_batch(module.spec, sum(lengths) + len(lengths))
    kinds = [[RowKind.STEP] * steps + [ENDS[at % 3]] for at, steps in enumerate(lengths)]
    kind = np.array([one for part in kinds for one in part], np.int8)
    rows |= {"kind": kind, "weight": (kind == RowKind.STEP).astype(np.float32)}
    for name in [name for name in rows if name.partition("/")[0] in ("observation", "reward")]:
        rows[name] = rng.normal(size=rows[name].shape).astype(np.float32)
    if "action" in rows:
        rows["action"] = rng.integers(0, 2, len(kind))
    rows["log_prob"] = np.log(rng.uniform(0.2, 0.9, len(kind))).astype(np.float32)
    return rows


def tensors(rows: Rows) -> dict[str, Tensor]:
    return {name: torch.from_numpy(np.ascontiguousarray(column)) for name, column in rows.items()}


def by_hand(module: ActorCritics, rows: Rows, lambda_: float) -> list[float]:
    """Returns the sum of the paper, Q + Σ γ^k (Π c) δ, for choices, step by step in plain numbers."""
    with torch.no_grad():
        seen = torch.from_numpy(rows["observation"])
        chances = module(seen).dist_inputs.log_softmax(-1).double()
        q = module(seen, criticise=True).min(0).values.double()
        soft = (chances.exp() * (q - module.log_temperature.exp() * chances)).sum(-1).tolist()
    kind, action = rows["kind"].tolist(), rows["action"].tolist()
    found = []
    for first in range(len(kind)):
        if kind[first] != RowKind.STEP:
            continue
        total, product, row = float(q[first, action[first]]), 1.0, first
        while kind[row] == RowKind.STEP:
            if row > first:
                ratio = float(chances[row, action[row]]) - float(rows["log_prob"][row])
                product *= GAMMA * lambda_ * min(1.0, float(np.exp(ratio)))
            discount = 0.0 if kind[row + 1] == RowKind.TERMINATED else GAMMA
            error = float(rows["reward"][row]) + discount * soft[row + 1] - float(q[row, action[row]])
            total += product * error
            row += 1
        found.append(total)
    return found


@pytest.mark.parametrize("lambda_", [0.0, 0.6, 1.0])
def test_targets_are_the_papers_sums(lambda_: float) -> None:
    module = network(CHOICES)
    with torch.no_grad():
        module.log_temperature.fill_(-0.5)
    rows = rows_of(module, (3, 4, 2))
    networks = CriticNetworks(module, module.spec, TargetSettings(None, 0.2))
    kind = rows["kind"]
    steps = single_steps(tensors(rows), GAMMA)
    after = np.flatnonzero(kind == RowKind.STEP) + 1
    cut = torch.from_numpy((kind[after] != RowKind.STEP).astype(np.float32))
    got = Retrace(SAC, lambda_).targets(networks, steps, cut, shuffle())
    np.testing.assert_allclose(got, by_hand(module, rows, lambda_), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("action", [CHOICES, NUMBERS], ids=["choices", "numbers"])
def test_without_a_decay_it_learns_what_single_steps_teach(action: dict[str, Any]) -> None:
    """For numbers the next action is drawn anew, so the rewards alone decide: each game is one tick long."""
    lengths = (1,) * 6 if action is NUMBERS else (3, 4, 2)
    plain, traced = network(action), network(action)
    rows = rows_of(plain, lengths)
    if action is NUMBERS:
        rows["kind"][1::2] = RowKind.TERMINATED
    learner_of(plain, None).update(tensors(rows), shuffle())
    learner_of(traced, 0.0).update(tensors(rows), shuffle())
    if action is CHOICES:
        torch.testing.assert_close(parameters_of(traced), parameters_of(plain))
    critics = [torch.cat([x.detach().flatten() for x in one.critics.parameters()]) for one in (plain, traced)]
    torch.testing.assert_close(critics[1], critics[0])


def test_sequences_of_a_table_teach_the_same_as_their_trajectories() -> None:
    whole, cut = network(CHOICES), network(CHOICES)
    rows = rows_of(whole, (3, 3, 3))
    learner_of(whole, 0.8).update(tensors(rows), shuffle())
    sequences = Sequences(5, 1, 0, burn_in_at_start=False).cut(rows)  # One row of padding each.
    assert sequences["kind"].shape == (3, 5)
    learner_of(cut, 0.8).update(tensors(sequences), shuffle())
    torch.testing.assert_close(parameters_of(cut), parameters_of(whole))


def test_transitions_have_no_trace() -> None:
    module = network(CHOICES)
    with pytest.raises(ValueError, match="targets are taken from trajectories, got transitions"):
        learner_of(module, 0.8).update(tensors(n_step(rows_of(module, (3,)), 1, GAMMA)), shuffle())


def walk(module: ActorCritics, updates: int, lambda_: float | None) -> float:
    """Returns what the critics think of going right in the first state of a chain that pays at its end, 1 · γ³."""
    learner, eye = learner_of(module, lambda_), np.eye(LENGTH + 1, dtype=np.float32)
    rows = empty_batch(module.spec, LENGTH + 1)
    rows |= {"observation": eye, "action": np.ones(LENGTH + 1, np.int64)}
    rows["kind"][:LENGTH], rows["kind"][LENGTH] = RowKind.STEP, RowKind.TERMINATED
    rows["weight"][:LENGTH], rows["reward"][LENGTH - 1] = 1, 1
    rows["log_prob"][:] = -2.0  # Somebody who hardly ever went right: the trace goes on.
    with torch.no_grad():
        module.log_temperature.fill_(-9.0)
    for update in range(updates):
        learner.update(tensors(rows), shuffle(update))
    with torch.no_grad():
        return float(module(torch.from_numpy(eye[:1]), criticise=True)[:, 0, 1].mean())


def test_a_reward_at_the_end_is_known_at_the_start_sooner() -> None:
    assert walk(network(CHOICES), 10, 1.0) > walk(network(CHOICES), 10, None) + 0.3
    assert walk(network(CHOICES), 80, 1.0) == pytest.approx(GAMMA**3, abs=0.15)
