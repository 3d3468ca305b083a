"""What several machines ask of a config."""

import pytest

from app.config.load import load
from app.errors import ConfigError
from deployments.nodes import refuse_loopback
from tests.ring.service import RL

OPEN = ("actors.main.host=0.0.0.0", "actors.main.access.allow_open=true")


def test_a_loopback_host_is_refused_on_several_machines_and_says_what_is_allowed() -> None:
    config = load(RL, [])
    refuse_loopback(config, ["10.0.0.1"])
    with pytest.raises(ConfigError, match=r"actors\.main\.host is '127\.0\.0\.1'.*has 2: 10\.0\.0\.1, 10\.0\.0\.2"):
        refuse_loopback(config, ["10.0.0.2", "10.0.0.1"])


def test_a_host_that_others_reach_is_taken() -> None:
    refuse_loopback(load(RL, OPEN), ["10.0.0.1", "10.0.0.2"])
