"""Trajectories cut in the learner are what a table would cut them into."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from app.algorithms.contract import Learner
from app.algorithms.critic_learner import CriticLearner, CriticSettings
from app.algorithms.critic_rules import ImplicitQ
from app.algorithms.q_learner import QLearner, QSettings
from app.algorithms.schedules import Line
from app.algorithms.single_steps import single_steps
from app.algorithms.target_network import TargetSettings
from app.models.module import spec_of
from app.models.networks.policy import build
from app.replay.n_step import n_step
from app.replay.rows import empty_batch
from app.types import RowKind, Rows
from tests.plain_stepper import plain_stepper

GAMMA = 0.7
ENDS = [RowKind.FULL, RowKind.TERMINATED, RowKind.TRUNCATED, RowKind.LOST]
KINDS = ["q", "critics"]


def network(kind: str) -> torch.nn.Module:
    torch.manual_seed(0)
    encoder = {"kind": "mlp", "hidden": [4]}
    return build({"shape": [3]}, {"choices": 2}, encoder=encoder, **{kind: {}})


def rows_of(lengths: list[tuple[int, RowKind]], seed: int = 0) -> Rows:
    rng = np.random.default_rng(seed)
    kind = np.concatenate([[RowKind.STEP] * steps + [end] for steps, end in lengths]).astype(np.int8)
    rows = empty_batch(spec_of(network("q")), len(kind))
    step = kind == RowKind.STEP
    rows["kind"], rows["weight"] = kind, step.astype(np.float32)
    rows["observation"] = rng.normal(size=(len(kind), 3)).astype(np.float32)
    rows["action"] = rng.integers(0, 2, len(kind))
    rows["action_mask"] = np.stack([np.ones(len(kind)), rng.integers(0, 2, len(kind))], 1).astype(np.uint8)
    rows["reward"] = rng.normal(size=len(kind)).astype(np.float32)
    return rows


@given(st.lists(st.tuples(st.integers(0, 4), st.sampled_from(ENDS)), min_size=1, max_size=5))
def test_single_steps_are_those_of_a_table(lengths: list[tuple[int, RowKind]]) -> None:
    rows = rows_of(lengths)
    got = single_steps({name: torch.from_numpy(column) for name, column in rows.items()}, GAMMA)
    expected = n_step(rows, 1, GAMMA)
    assert got.keys() == expected.keys()
    for name, column in expected.items():
        np.testing.assert_array_equal(got[name].numpy(), column, err_msg=name)


def learner_of(kind: str, module: torch.nn.Module) -> Learner:
    stepper, target = plain_stepper(module, torch.optim.SGD(module.parameters(), 0.1), 1e9), TargetSettings(None, 0.1)
    if kind == "q":
        settings = QSettings(target, True, 1.0, Line(0.0, 0.0, 1), 1, gamma=GAMMA)
        return QLearner(module, spec_of(module), stepper, settings, 1, lambda x: x)
    criticised = CriticSettings(ImplicitQ(0.7, 3.0, 100.0), target, 1, GAMMA)
    return CriticLearner(module, spec_of(module), stepper, criticised, 1, lambda x: x)


@pytest.mark.parametrize("kind", KINDS)
def test_a_learner_of_transitions_learns_from_trajectories_the_same(kind: str) -> None:
    rows = rows_of([(3, RowKind.FULL), (2, RowKind.TERMINATED)])
    first, second = network(kind), network(kind)
    cut = {name: torch.from_numpy(column) for name, column in n_step(rows, 1, GAMMA).items()}
    whole = {name: torch.from_numpy(column) for name, column in rows.items()}
    one = learner_of(kind, first).update(cut, torch.Generator().manual_seed(0))
    other = learner_of(kind, second).update(whole, torch.Generator().manual_seed(0))
    assert one.metrics == other.metrics
    assert one.priorities is not None
    assert other.priorities is None
    for name, x in first.state_dict().items():
        assert torch.equal(second.state_dict()[name], x), name
