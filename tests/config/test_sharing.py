from pathlib import Path

import pytest

from app.config.load import load
from app.errors import ConfigError

RL = Path(__file__).parents[2] / "configs" / "rl.yaml"
SECOND = (
    "models.second={factory: 'app.games.cartpole.model:build'}",
    "buffers.seconds={}",
    "trainers.second={model: second, inputs: [{buffer: seconds}]}",
)


def test_trainers_with_models_and_buffers_of_their_own_are_taken() -> None:
    assert set(load(RL, SECOND).trainers) == {"main", "second"}


def test_a_model_of_two_trainers_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match=r"trainers.second.model: model 'main' is trainers.main.model's already"):
        load(RL, [*SECOND, "trainers.second.model=main"])


def test_a_buffer_that_two_inputs_read_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match=r"trainers.second.inputs.0.buffer: buffer 'rollouts' is trainers.main.inp"):
        load(RL, [*SECOND, "trainers.second.inputs.0.buffer=rollouts"])
