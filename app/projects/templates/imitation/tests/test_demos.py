"""The expert's games."""

from pathlib import Path

from app.config.load import load
from train.trying.sources import try_source

from mygame.demos import played
from mygame.game import APPLES

CONFIG = Path(__file__).parents[1] / "configs" / "imitation.yaml"


def test_the_expert_catches_all() -> None:
    assert sum(played(3)["reward"]) == APPLES


def test_the_source_fits_the_model() -> None:
    assert not try_source(load(CONFIG), "demos").problems
