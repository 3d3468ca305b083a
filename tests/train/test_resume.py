"""What is kept besides counters."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from app.algorithms.contract import Learned
from tests.train.runs import Run
from train.learners import Learners
from train.resume import go_on, progress_of


class Tracking:
    """A learner with a target network of its own."""

    def __init__(self, target: float) -> None:
        self.target = torch.tensor([target])

    def update(self, batch: Mapping[str, Tensor], shuffle: torch.Generator) -> Learned:
        return Learned({})

    def state_dict(self) -> dict[str, Any]:
        return {"target": self.target}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.target = state["target"].clone()


def test_a_learner_with_a_state_is_kept_and_gone_on_with() -> None:
    run, first, second = Run(), Tracking(3.0), Tracking(0.0)
    progress = progress_of(run.trained, Learners([first]), run.processes)
    assert progress is not None
    go_on(progress, Run(seed=1).trained, Learners([second]), rank=0)
    assert second.target.item() == 3.0


def test_a_learner_without_a_state_keeps_nothing() -> None:
    run = Run()
    progress = run.progress()
    assert progress is not None
    assert progress.learner == {}


def test_a_worker_of_a_rank_that_there_was_not_keeps_its_own_generators() -> None:
    progress = Run().train(1).progress()
    assert progress is not None
    torch.manual_seed(8)
    expected = torch.rand(1)
    run = Run(seed=1)
    torch.manual_seed(8)
    go_on(progress, run.trained, run.learners, rank=1)
    assert torch.equal(torch.rand(1), expected)
