import pytest
import torch
from torch import Tensor

from app.algorithms.contract import Learned
from app.errors import CheckpointError
from train.learners import Learners


class Counting:
    """Keeps one number."""

    def __init__(self, number: float) -> None:
        self.number = torch.tensor(number)

    def update(self, batch: object, shuffle: torch.Generator) -> Learned:
        self.number += 1
        return Learned({})

    def state_dict(self) -> dict[str, Tensor]:
        return {"target.weight": self.number.clone()}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        self.number = state["target.weight"]


def test_each_learner_gets_its_own_state_back() -> None:
    saved = Learners([Counting(1), Counting(2)]).state_dict()
    assert sorted(saved) == ["0.target.weight", "1.target.weight"]
    one, two = Counting(0), Counting(0)
    Learners([one, two]).load_state_dict(saved)
    assert (float(one.number), float(two.number)) == (1, 2)


def test_the_state_of_more_learners_is_refused() -> None:
    with pytest.raises(CheckpointError, match=r"'1.target.weight' is of an input that there is not; there are 1"):
        Learners([Counting(1)]).load_state_dict(Learners([Counting(1), Counting(2)]).state_dict())
