from typing import Any

import pytest
import torch

from app.algorithms.contract import Learned
from app.algorithms.custom import Training, custom_learner
from app.algorithms.passes import SequenceSettings
from app.algorithms.stepper import Still
from app.errors import PluginError
from app.models.module import spec_of
from tests.small_policy import small_policy

PLACE = "tests.algorithms.test_custom"


class Idle:
    """Learns nothing."""

    def __init__(self, training: Training, patience: int = 1) -> None:
        if patience < 0:
            raise ValueError(f"patience is {patience}; allowed is at least 0")
        self.training, self.patience = training, patience

    def update(self, batch: dict[str, Any], shuffle: torch.Generator) -> Learned:
        return Learned({})

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        pass


class Half:
    """Is no learner."""

    def __init__(self, training: Training) -> None:
        pass

    def update(self, batch: dict[str, Any], shuffle: torch.Generator) -> Learned:
        return Learned({})


def training() -> Training:
    module = small_policy()
    return Training(module, spec_of(module), Still(), 3, 1, lambda x: x, SequenceSettings(8, 0))


def test_a_factory_gets_the_training_and_its_arguments() -> None:
    given = training()
    learner = custom_learner(f"{PLACE}:Idle", {"patience": 4}, given)
    assert isinstance(learner, Idle)
    assert learner.training is given
    assert learner.patience == 4


@pytest.mark.parametrize(
    ("factory", "kwargs", "message"),
    [
        ("Half", {}, r"test_custom:Half' returned a Half without state_dict, load_state_dict"),
        ("PLACE", {}, r"test_custom:PLACE' is not callable, it is a str"),
        ("Nobody", {}, r"has no 'Nobody'"),
        ("Idle", {"patients": 1}, r"cannot be called with a Training and \{'patients': 1\}: .*unexpected keyword"),
    ],
)
def test_what_is_no_algorithm_is_refused(factory: str, kwargs: dict[str, Any], message: str) -> None:
    with pytest.raises(PluginError, match=message):
        custom_learner(f"{PLACE}:{factory}", kwargs, training())


def test_what_a_factory_refuses_comes_through() -> None:
    with pytest.raises(ValueError, match="patience is -1; allowed is at least 0"):
        custom_learner(f"{PLACE}:Idle", {"patience": -1}, training())
