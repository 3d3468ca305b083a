"""Gives each who waits its part of a batch's outcome."""

from collections.abc import Sequence
from typing import Final, cast

import numpy as np

from app.errors import AgentError, DeadlineExceededError, OverloadedError, StepError
from app.models.batching import joined
from app.models.engine import Answer, RowFailure, check_answer, told
from app.models.question import Leaves, Prepared, decisions, stacked
from app.models.spec import ModelSpec
from app.models.waiting import Batch, Waiting

_TOLD_AS_THEY_ARE: Final[tuple[type[StepError], ...]] = (OverloadedError, DeadlineExceededError, AgentError)
"""Failures that say what to do next, or what the other process has told already."""


def gathered(spec: ModelSpec, group: Sequence[Waiting]) -> tuple[Leaves, Leaves]:
    """Returns the inputs and states of all as one batch."""
    asked = [item.asked for item in group]
    if Batch not in map(type, asked):
        return stacked(spec, cast("list[Prepared]", asked))
    parts = [(one.inputs, one.states) if isinstance(one, Batch) else stacked(spec, [one]) for one in asked]
    return joined([inputs for inputs, _ in parts]), joined([states for _, states in parts])


def fail(group: Sequence[Waiting], error: BaseException) -> None:
    """Tells each who still waits, each by an error of its own."""
    for item in group:
        _tell(item, _failure(error))


def no_answer(error: str) -> AgentError:
    """Returns what whoever asked is told where the network, or the way to it, failed."""
    return AgentError(f"the model did not answer: {error}")


def settle(spec: ModelSpec, group: Sequence[Waiting], answer: Answer) -> None:
    """Gives each who still waits its part of the answer, or what is wrong with that part alone.

    Raises:
      ValueError: The answer has other shapes than the spec tells.
    """
    asked = [item.asked for item in group]
    check_answer(answer, spec, sum([item.rows for item in group]))
    if Batch in map(type, asked):
        group, answer = _told_batches(group, answer)
        asked = [item.asked for item in group]
    for row, error in answer.failures:
        _tell(group[row], no_answer(error))
    if group:
        decided = decisions(spec, cast("list[Prepared]", asked), answer.outputs, answer.states, answer.version)
        for item, decision in zip(group, decided, strict=True):
            outcome = item.outcome
            if isinstance(decision, ValueError):
                fail([item], decision)
            elif not outcome.done():
                outcome.set_result(decision)


def _told_batches(group: Sequence[Waiting], answer: Answer) -> tuple[list[Waiting], Answer]:
    """Gives those who asked a batch their part of the answer; returns the others and theirs."""
    rows = [item.rows for item in group]
    for item, part in zip(group, answer.split(rows), strict=True):
        if isinstance(item.asked, Batch) and not item.outcome.done():
            if len(part.failures) == item.rows:
                _tell(item, no_answer(part.failures[0].error))
            else:
                item.outcome.set_result(part)
    left = np.repeat([isinstance(item.asked, Prepared) for item in group], rows)
    kept = {row: at for at, row in enumerate(np.flatnonzero(left).tolist())}
    failures = tuple(RowFailure(kept[row], error) for row, error in answer.failures if row in kept)
    outputs, states = [leaf[left] for leaf in answer.outputs], [leaf[left] for leaf in answer.states]
    rest = Answer(outputs, states, answer.version, failures)
    return [item for item in group if isinstance(item.asked, Prepared)], rest


def _tell(item: Waiting, failure: StepError) -> None:
    if not item.outcome.done():
        item.outcome.set_exception(failure)


def _failure(error: BaseException) -> StepError:
    for kind in _TOLD_AS_THEY_ARE:
        if isinstance(error, kind):
            return kind(str(error))
    failure = no_answer(told(error))
    failure.__cause__ = error
    return failure
