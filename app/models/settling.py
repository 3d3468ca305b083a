"""Gives each who waits its part of a batch's outcome."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from app.errors import AgentError, DeadlineExceededError, OverloadedError, StepError
from app.models.batching import joined
from app.models.engine import Answer, check_answer
from app.models.question import Leaves, Prepared, decisions
from app.models.spec import ModelSpec
from app.models.waiting import Batch, Waiting

_TOLD_AS_THEY_ARE: Final[tuple[type[StepError], ...]] = (OverloadedError, DeadlineExceededError)
"""Failures that say what to do next."""


def gathered(group: Sequence[Waiting]) -> tuple[Leaves, Leaves]:
    """Returns the inputs and states of all as one batch."""
    return joined([item.asked.inputs for item in group]), joined([item.asked.states for item in group])


def fail(group: Sequence[Waiting], error: BaseException) -> None:
    """Tells each who still waits, each by an error of its own."""
    for item in group:
        if not item.outcome.done():
            item.outcome.set_exception(_failure(error))


def settle(spec: ModelSpec, group: Sequence[Waiting], answer: Answer) -> None:
    """Gives each who still waits its part of the answer.

    Raises:
      ValueError: The answer has other shapes than the spec tells.
    """
    check_answer(answer, spec, sum(item.rows for item in group))
    deciding = [item for item in group if isinstance(item.asked, Prepared)]
    if len(deciding) < len(group):
        parts = answer.split([item.rows for item in group])
        for item, part in zip(group, parts, strict=True):
            if isinstance(item.asked, Batch) and not item.outcome.done():
                item.outcome.set_result(part)
        rows = np.repeat([isinstance(item.asked, Prepared) for item in group], [item.rows for item in group])
        answer = Answer([leaf[rows] for leaf in answer.outputs], [leaf[rows] for leaf in answer.states], answer.version)
    if deciding:
        _decide(spec, deciding, answer)


def _decide(spec: ModelSpec, group: Sequence[Waiting], answer: Answer) -> None:
    questions = [item.asked for item in group if isinstance(item.asked, Prepared)]
    decided = decisions(spec, questions, answer.outputs, answer.states, answer.version)
    for item, decision in zip(group, decided, strict=True):
        if isinstance(decision, ValueError):
            fail([item], decision)
        elif not item.outcome.done():
            item.outcome.set_result(decision)


def _failure(error: BaseException) -> StepError:
    for kind in _TOLD_AS_THEY_ARE:
        if isinstance(error, kind):
            return kind(str(error))
    failure = AgentError(f"the model did not answer: {type(error).__name__}: {error}")
    failure.__cause__ = error
    return failure
