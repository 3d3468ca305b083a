"""The configs of a search."""

from pathlib import Path

import pytest

from app.config.load import load
from app.errors import ConfigError
from train.search.plan import plan

CONFIGS = Path(__file__).parents[3] / "configs"
RATE = "trainers.main.optimizer.learning_rate"
VALUES = {
    RATE: 2e-5,
    "trainers.main.inputs.0.algorithm.gae_lambda": 0.9,
    "trainers.main.inputs.0.algorithm.entropy_coef": 0.01,
}


def test_a_trial_has_a_name_and_a_port_of_its_own() -> None:
    config = plan(CONFIGS / "search.yaml", ["run.seed=3"]).config_of("trial_004", VALUES)
    assert (config.run.trial, config.run.seed, config.actors["main"].port) == ("search_trial_004", 3, 0)
    assert config.search is None
    trainer = config.trainers["main"]
    assert trainer.optimizer.learning_rate == 2e-5
    assert trainer.inputs[0].algorithm.gae_lambda == 0.9  # type: ignore[union-attr]


def test_the_best_config_stands_for_itself(tmp_path: Path) -> None:
    found = plan(CONFIGS / "search.yaml", ["run.seed=3"])
    path = tmp_path / "best.yaml"
    path.write_text(found.best_yaml(VALUES))
    best = load(path)
    own = found.config_of("trial_004", VALUES)
    assert best.trainers == own.trainers
    assert (best.run.trial, best.run.seed, best.search) == ("search_best", 3, None)
    assert best.actors["main"].port == 36390
    assert best.launch is not None
    assert Path(str(best.launch.deploy_config)).samefile(CONFIGS / "deploy.yaml")


def test_a_parameter_that_no_config_has_is_told_before_anything_starts(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(
        f"extends: [{CONFIGS / 'rl.yaml'}]\n"
        "search: {space: {trainers.main.optimizer.learning_rat: {kind: uniform, low: 0.1, high: 0.2}}}\n"
    )
    with pytest.raises(ConfigError, match="did you mean 'learning_rate'"):
        plan(path, [])


def test_a_config_without_a_search_is_refused() -> None:
    with pytest.raises(ConfigError, match="has no search section"):
        plan(CONFIGS / "rl.yaml", [])
