"""A render alone: what it draws, and how long that takes."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.config.models import ModelConfig
from app.config.root import ExperimentConfig, Run
from app.config.serving import AgentConfig
from app.errors import ConfigError
from train.trying.renders import try_render

HERE = "tests.train.trying.test_renders"
CONFIG = ExperimentConfig(
    run=Run(project="a", trial="b"),
    models={"main": ModelConfig(factory="app.games.cartpole.model:build")},
    agents={"player": AgentConfig(model="main", renders={"cart": "app.games.cartpole.render:cart"})},
)
QUICK_S = 0.01


def grows(frame: Any) -> Any:
    return np.zeros((frame.at + 1, 2, 3), np.uint8)


def floats(frame: Any) -> Any:
    return np.zeros((2, 2, 3))


def test_a_render_of_an_agent_draws_a_made_up_game(tmp_path: Path) -> None:
    report = try_render(CONFIG, "player.cart", png=tmp_path / "first.png", seconds=QUICK_S)
    assert report.problems == ()
    assert report.facts["gives"] == ["200 x 320 x 3"]
    assert (tmp_path / "first.png").read_bytes().startswith(b"\x89PNG")


def test_a_render_is_found_by_its_path() -> None:
    assert try_render(CONFIG, "app.render.choosing:payloads", seconds=QUICK_S).facts["gives"] == ["HTML"]


@pytest.mark.parametrize(("name", "told"), [("grows", "several sizes"), ("floats", "allowed is an image")])
def test_what_is_no_picture_of_a_game_is_a_problem(name: str, told: str) -> None:
    (problem,) = try_render(CONFIG, f"{HERE}:{name}", seconds=QUICK_S).problems
    assert told in problem


def test_a_name_that_is_not_there_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"no render named 'player\.tree'; there are: player\.cart"):
        try_render(CONFIG, "player.tree")
