"""Recorded games of CartPole-v1 are learned from by the shipped configs; docs/proofs.md has the figures."""

import numpy as np
import pytest

from .conftest import Tell
from .experts import balances, recorded
from .teaching import spec_in, taught

pytestmark = [pytest.mark.proof, pytest.mark.fast_proof, pytest.mark.timeout(900)]


@pytest.mark.parametrize("config", ["imitation.yaml", "marwil.yaml"])
def test_imitation_of_twenty_expert_games(told: Tell, config: str) -> None:
    rows, returns = recorded(spec_in(config), balances, 20, seed=1)
    assert np.mean(returns) >= 475
    proof = told(taught(config, rows, optimizer_steps=1500))
    assert proof.mean_return >= 450, proof.line()
