"""What one more decision in a batch costs, counted in calls: a time would depend on the machine."""

import asyncio
import sys
from types import FrameType

import numpy as np

from app.models.placement import LocalModel
from app.models.question import Question
from app.models.torch_engine import TorchEngine
from app.types import Arrays, Version
from tests.small_policy import small_policy

CALLS_MAX = 28
"""Calls of one more decision, those of asyncio and of the builtins included."""


async def _nothing_kept(version: Version) -> Arrays:
    raise KeyError(version)


def _calls(model: LocalModel, rows: int) -> int:
    """Returns how many calls so many decisions of one turn make."""
    questions = [Question(np.array([row, 1], np.float32), (0.3,)) for row in range(rows)]
    counted = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal counted
        counted += event in ("call", "c_call")

    async def decide() -> None:
        waiting = [model.decide(question) for question in questions]
        await waiting[-1]
        assert all(decision.done() for decision in waiting)  # type: ignore[attr-defined]

    with asyncio.Runner() as runner:
        runner.run(decide())
        sys.setprofile(count)
        try:
            runner.run(decide())
        finally:
            sys.setprofile(None)
    return counted


def test_one_more_decision_of_a_batch_costs_a_few_calls() -> None:
    model = LocalModel(TorchEngine(small_policy()), _nothing_kept)
    more = (_calls(model, 64) - _calls(model, 32)) / 32
    assert more <= CALLS_MAX
