"""Acrobot-v1, whose reward is far away at first, is learned in this process by the shipped config."""

import pytest

from .conftest import Tell
from .learning import Learning

pytestmark = [pytest.mark.proof, pytest.mark.timeout(1800)]


def test_ppo_swings_the_acrobot_up(told: Tell) -> None:
    proof = told(Learning("ppo_acrobot.yaml", 0).run(250_000, promising=-130))
    assert proof.mean_return >= -100, proof.line()
