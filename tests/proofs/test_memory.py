"""What one tick does not show is learned by a model with a state."""

import pytest

from .conftest import Tell
from .learning import Learning

pytestmark = [pytest.mark.proof, pytest.mark.timeout(1800)]


def test_a_pole_whose_speed_is_hidden_is_kept_up(told: Tell) -> None:
    proof = told(Learning("ppo_recurrent.yaml", 0).run(200_000, promising=200))
    assert proof.mean_return >= 400, proof.line()
