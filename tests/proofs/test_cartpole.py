"""CartPole-v1 is learned in this process, by the shipped configs; each curve stands in docs/algorithms.md."""

from collections.abc import Iterator

import gymnasium
import numpy as np
import pytest
import torch
from torch import nn

from app.config.algorithms import Algorithm, Bc, Marwil
from app.models.module import spec_of
from app.models.networks.policy import build
from app.types import Rows
from tests.plain_stepper import plain_stepper
from train.learning import learner_of

from .experts import balances, recorded
from .learning import Learning
from .rollouts import evaluated, tensors

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
MADE = "CartPole-v1"


@pytest.fixture(autouse=True, scope="module")
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def test_dqn_needs_no_more_steps_than_its_peers() -> None:
    proof = Learning("dqn.yaml", seed=0).run(50_000, promising=400)
    assert proof.mean_return >= 475, proof.curve


def taught(module: nn.Module, rows: Rows, algorithm: Algorithm, updates: int) -> float:
    """Returns the mean return of 50 evaluated games after so many updates on the same rows."""
    stepper = plain_stepper(module, torch.optim.Adam(module.parameters(), 1e-3, fused=True), 1.0)
    learner = learner_of(algorithm, len(rows["kind"]), module, spec_of(module), stepper, 1, lambda x: x)
    batch = tensors(rows)
    for update in range(updates):
        learner.update(batch, torch.Generator().manual_seed(update))
    return evaluated(lambda: gymnasium.make(MADE), module, 50, seed=9)


def network(**more: object) -> nn.Module:
    torch.manual_seed(0)
    return build({"shape": [4]}, {"choices": 2}, encoder={"kind": "mlp", "hidden": [64, 64]}, **more)


@pytest.mark.parametrize("algorithm", [Bc(), Marwil(value_coef=0.01)], ids=["bc", "marwil"])
def test_imitation_of_twenty_expert_games(algorithm: Algorithm) -> None:
    module = network()
    rows, returns = recorded(spec_of(module), balances, 20, seed=1)
    assert np.mean(returns) >= 475
    assert taught(module, rows, algorithm, updates=40) >= 450
