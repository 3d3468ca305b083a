"""Trials in one process: reports, saved states, and taking over from another trial."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
import torch

from app.config.load import load
from app.config.root import ExperimentConfig
from app.errors import ConfigError
from train.checkpoint import Checkpoints, LearnerState
from train.search.in_process import objective

RL = Path(__file__).parents[3] / "configs" / "rl.yaml"
SMALL = (
    "launch.simulator.games=4",
    "trainers.main.inputs.0.batch_rows=128",
    "trainers.main.inputs.0.algorithm.minibatch_rows=64",
    "trainers.main.inputs.0.algorithm.epochs=1",
)


class Trial:
    """Keeps what is reported."""

    def __init__(self, name: str, folder: Path, updates: int, restored: Path | None = None) -> None:
        self.name, self.updates, self.report_every_updates = name, updates, 2
        self.reports: list[tuple[int, dict[str, float]]] = []
        self._folder, self._restored = folder, restored

    def restored(self) -> Path | None:
        return self._restored

    def report(self, updates: int, metrics: Mapping[str, float], save: Callable[[Path], None]) -> None:
        self.reports.append((updates, dict(metrics)))
        save(self._folder)


def test_a_trial_reports_in_steps_until_its_end(tmp_path: Path) -> None:
    trial = Trial("one", tmp_path, 5)
    objective(config(), trial)
    assert [updates for updates, _ in trial.reports] == [2, 4, 5]
    assert all(metrics["mean_return"] > 0 and metrics["games"] > 0 for _, metrics in trial.reports)


def test_a_trial_goes_on_from_anothers_weights_and_updates_with_its_own_learning_rate(tmp_path: Path) -> None:
    objective(config(), Trial("donor", tmp_path / "donor", 2))
    donor = state(tmp_path / "donor")
    still = Trial("still", tmp_path / "still", 3, tmp_path / "donor")
    objective(config("trainers.main.optimizer.learning_rate=1e-12"), still)
    moved = Trial("moved", tmp_path / "moved", 3, tmp_path / "donor")
    objective(config(), moved)
    assert [updates for updates, _ in still.reports] == [3]
    assert distance(donor, state(tmp_path / "still")) < 1e-6 < distance(donor, state(tmp_path / "moved"))


def test_a_config_that_needs_a_ring_is_refused(tmp_path: Path) -> None:
    inputs = "trainers.main.inputs=[{buffer: rollouts, batch_rows: 128, algorithm: {kind: bc, minibatch_rows: 64}}]"
    with pytest.raises(ConfigError, match="in one process there is one trainer"):
        objective(load(RL, [inputs]), Trial("one", tmp_path, 1))


def test_a_model_that_names_rewards_is_refused_where_games_give_one(tmp_path: Path) -> None:
    kwargs = "models.main.kwargs={observation: {shape: [4]}, action: {choices: 2}, rewards: [win, health]}"
    changes = ["models.main.factory=app.models.networks.policy:build", kwargs]
    with pytest.raises(ConfigError, match="in one process games give one reward, and the model names win, health"):
        objective(load(RL, changes), Trial("one", tmp_path, 1))


def test_a_teacher_is_refused_where_nobody_finds_it(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"got algorithm\.teacher; allowed there is null"):
        objective(config("trainers.main.inputs.0.algorithm.teacher.checkpoint=clones/x"), Trial("one", tmp_path, 1))


def test_gail_imitates_its_expert_in_one_process(tmp_path: Path) -> None:
    changes = (
        "sources.played={kind: factory, factory: 'tests.train.test_adversaries:demos'}",
        "trainers.main.inputs.0.algorithm.expert=played",
    )
    objective(load(RL.with_name("gail.yaml"), [*SMALL, *changes]), Trial("one", tmp_path, 2))
    assert "0.discriminator.head.weight" in state(tmp_path).progress.learner


def test_an_algorithm_of_ones_own_is_tried_out(tmp_path: Path) -> None:
    own = "{kind: custom, factory: 'tests.algorithms.test_custom:Idle', minibatch_rows: 64}"
    inputs = f"trainers.main.inputs=[{{buffer: rollouts, batch_rows: 128, algorithm: {own}}}]"
    trial = Trial("one", tmp_path, 2)
    objective(load(RL, ["launch.simulator.games=4", inputs]), trial)
    assert [updates for updates, _ in trial.reports] == [2]


def config(*overrides: str) -> ExperimentConfig:
    return load(RL, [*SMALL, *overrides])


def state(folder: Path) -> LearnerState:
    found = Checkpoints(folder).newest_state()
    assert found is not None
    return found


def distance(one: LearnerState, other: LearnerState) -> float:
    weights, others = one.progress.trained.model, other.progress.trained.model
    return max(float(torch.max(torch.abs(x - others[name]))) for name, x in weights.items())
