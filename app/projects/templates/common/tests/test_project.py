"""Every config loads, and what it names can be imported, built and asked."""

from pathlib import Path

import pytest
from app.config.load import load
from app.config.usable import refuse_unusable
from train.trying.agents import try_agent
from train.trying.models import try_model
from train.trying.trainers import try_trainer

FOLDER = Path(__file__).parents[1] / "configs"
CONFIGS = sorted(FOLDER.glob("*.yaml"))
TRAINED = [path for path in CONFIGS if load(path).trainers]


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_a_config_names_what_there_is(path: Path) -> None:
    refuse_unusable(load(path), path)


def test_the_network_answers() -> None:
    assert not try_model(load(FOLDER / "base.yaml"), "main").problems


def test_the_agents_play() -> None:
    config = load(FOLDER / "base.yaml")
    for name in config.agents:
        assert not try_agent(config, name).problems


@pytest.mark.parametrize("path", TRAINED, ids=lambda path: path.stem)
def test_the_trainers_learn(path: Path) -> None:
    config = load(path)
    for name in config.trainers:
        assert not try_trainer(config, name, updates=2).problems
