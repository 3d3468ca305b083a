"""CartPole-v1 is learned in this process, by the shipped configs; each curve stands in docs/algorithms.md."""

from collections.abc import Iterator

import gymnasium
import numpy as np
import pytest
import torch
from torch import nn

from app.algorithms.stepper import PlainStepper
from app.config.algorithms import Algorithm, Bc, Marwil
from app.config.off_policy import Cql, Iql
from app.models.module import spec_of
from app.models.networks.policy import build
from app.types import Rows
from train.learning import learner_of

from .experts import Plays, balances, recorded
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


def test_discrete_sac() -> None:
    proof = Learning("sac_discrete.yaml", seed=0).run(150_000, promising=300)
    assert proof.mean_return >= 475, proof.curve


def taught(module: nn.Module, rows: Rows, algorithm: Algorithm, updates: int) -> float:
    """Returns the mean return of 50 evaluated games after so many updates on the same rows."""
    stepper = PlainStepper(module, torch.optim.Adam(module.parameters(), 1e-3, fused=True), 1.0)
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


def clumsy(seed: int) -> Plays:
    """Returns a player that knows what to do, and yet pushes to the left more often than not."""
    rng = np.random.default_rng(seed)
    return lambda observation: 0 if rng.random() < 0.55 else balances(observation)


@pytest.mark.parametrize(
    ("algorithm", "more"),
    [(Cql(conservative_coef=0.5), {"q": {}}), (Iql(), {"critics": {"count": 2, "hidden": [64]}})],
    ids=["cql", "iql"],
)
def test_learning_from_mixed_games_is_better_than_imitating_them(algorithm: Algorithm, more: dict[str, object]) -> None:
    plain, module = network(), network(**more)
    rows, returns = recorded(spec_of(plain), clumsy(3), 300, seed=2)
    cloned = taught(plain, rows, Bc(), updates=20)
    learned = taught(module, rows, algorithm, updates=15)
    assert learned > cloned + 50, (np.mean(returns), cloned, learned)
