"""CartPole-v1 is learned from an expert's games alone: the games that are played pay nothing."""

import pytest

from .conftest import Tell
from .imitating import imitated

pytestmark = [pytest.mark.proof, pytest.mark.timeout(900)]


@pytest.mark.parametrize("seed", [pytest.param(0, marks=pytest.mark.fast_proof), 1, 2])
def test_twenty_games_of_an_expert_are_enough(told: Tell, seed: int) -> None:
    proof = told(imitated("gail.yaml", seed, expert_games=20, env_steps=60_000, evaluations=6))
    assert proof.mean_return >= 450, proof.line()
