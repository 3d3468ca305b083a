"""The address of the game port."""

import pytest

from app.config.addresses import game_url
from app.config.root import ExperimentConfig
from app.errors import ConfigError

RUN = {"project": "game", "trial": "one"}
ACTORS = {"lobby": {"agents": ["a"], "port": 7, "host": "127.0.0.2"}, "other": {"agents": ["a"]}}


def test_the_first_actors_port_is_the_one_that_was_found_or_that_of_the_config() -> None:
    config = ExperimentConfig.model_validate({"run": RUN, "agents": {"a": {}}, "actors": ACTORS})
    assert game_url(config) == "http://127.0.0.2:7"
    assert game_url(config, {"lobby": 9, "other": 8}) == "http://127.0.0.2:9"
    assert game_url(config, {"other": 8}) == "http://127.0.0.2:7"


def test_without_actors_there_is_none() -> None:
    with pytest.raises(ConfigError, match="has no actors"):
        game_url(ExperimentConfig.model_validate({"run": RUN}))
