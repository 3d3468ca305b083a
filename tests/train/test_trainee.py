"""A network that is trained otherwise from a moment on: with all that it has learned, or anew."""

from pathlib import Path

import pytest
import torch

from app.config.active import active
from app.config.load import load
from app.config.root import ExperimentConfig
from app.config.training import TrainerConfig
from app.errors import ModelMismatchError
from app.models.module import build_module, to_arrays
from app.seeding import derive
from tests.train.runs import batch, digest
from train.learners import Given
from train.random_state import seed_generators
from train.strategies.processes import Processes
from train.strategies.strategy import Place
from train.trainee import Trainee

RL = Path(__file__).parents[2] / "configs" / "rl.yaml"
NETWORK = (
    "models.main.factory=app.models.networks.policy:build",
    "models.main.kwargs={observation: {shape: [2]}, action: {choices: 2}, encoder: {kind: mlp, hidden: [8]}}",
    "trainers.main.inputs.0.batch_rows=40",
    "trainers.main.inputs.0.algorithm.minibatch_rows=20",
)


def settings(*changes: str) -> tuple[ExperimentConfig, TrainerConfig]:
    config = active(load(RL, [*NETWORK, *changes]))
    return config, config.trainers["main"]


def trainee(*changes: str) -> Trainee:
    config, trainer = settings(*changes)
    model = config.models["main"]
    module = build_module(model.factory, model.kwargs, 0)
    seed_generators(1)
    return Trainee(config, trainer, module, Place(), Processes(0, 1), {})


def trained(one: Trainee, *numbers: int) -> str:
    """Trains on the batches of these numbers and returns a digest of all that a checkpoint would hold."""
    for number in numbers:
        shuffle = torch.Generator().manual_seed(derive(7, number))
        one.learners.update([Given(0, batch(number), shuffle)])
    return digest(one.progress())


def weights(one: Trainee) -> str:
    return digest(one.trained.weights())


def test_what_was_learned_goes_on_as_if_nothing_had_changed() -> None:
    changed = trainee()
    trained(changed, 1, 2)
    changed.change(settings()[1], None)
    assert trained(changed, 3) == trained(trainee(), 1, 2, 3)


@pytest.mark.parametrize(
    "change",
    ["trainers.main.optimizer.learning_rate=0.01", "trainers.main.inputs.0.algorithm.entropy_coef=0.5"],
)
def test_new_settings_hold_from_the_change_on(change: str) -> None:
    changed, before = trainee(), trainee()
    trained(changed, 1)
    changed.change(settings(change)[1], None)
    trained(before, 1)
    assert weights(changed) == weights(before)
    trained(changed, 2)
    trained(before, 2)
    assert weights(changed) != weights(before)


def test_one_that_begins_anew_has_forgotten_everything() -> None:
    config, trainer = settings()
    model = config.models["main"]
    first = to_arrays(build_module(model.factory, model.kwargs, 0))
    changed = trainee()
    trained(changed, 1, 2)
    changed.change(trainer, first)
    seed_generators(1)
    assert trained(changed, 3) == trained(trainee(), 3)


def test_weights_of_another_network_are_refused() -> None:
    with pytest.raises(ModelMismatchError):
        trainee().change(settings()[1], {})
