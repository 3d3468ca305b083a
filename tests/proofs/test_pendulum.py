"""Pendulum-v1, whose action is a real number, is learned in this process by the shipped configs."""

import pytest

from .conftest import Tell
from .learning import Learning

pytestmark = [pytest.mark.proof, pytest.mark.timeout(1800)]


@pytest.mark.parametrize("config", ["sac_pendulum.yaml", "td3_pendulum.yaml"])
def test_the_pendulum_is_swung_up_and_held(told: Tell, config: str) -> None:
    proof = told(Learning(config, 0).run(30_000, promising=-270))
    assert proof.mean_return >= -200, proof.line()
