"""A row that makes a network fail hurts no other row of its batch."""

from collections import deque
from typing import Final, NamedTuple

import numpy as np

from app.models.batching import Forward
from app.models.engine import Answer, RowFailure, told
from app.models.question import Leaves
from app.types import Version

ATTEMPTS_MAX: Final = 64
"""Parts of one failed batch that are asked: a bad row of 1024 takes 20, and each row of 32 has its turn. Parts that
still fail are told so as a whole."""


class _Failed(NamedTuple):
    begin: int
    end: int
    error: Exception


def forgiving(forward: Forward) -> Forward:
    """Returns a forward that asks a failed batch again in halves, and these in halves, down to the rows that fail.

    Its answer names those in ``failures``. It raises only where no row was answered.
    """

    def asked(inputs: Leaves, states: Leaves, version: Version | None) -> Answer:
        try:
            return forward(inputs, states, version)
        except Exception as error:  # The user's network may raise anything.
            rows = len(inputs[0])
            if rows == 1:
                raise
            good, failures = _apart(forward, (inputs, states, version), _Failed(0, rows, error))
            if not good:
                raise
            return _assembled(rows, good, failures)

    return asked


def _apart(
    forward: Forward, asked: tuple[Leaves, Leaves, Version | None], whole: _Failed
) -> tuple[list[tuple[int, Answer]], list[RowFailure]]:
    """Returns the answers to the parts that have one, by their first row, and the rows without; the largest first."""
    inputs, states, version = asked
    failed, attempts = deque([whole]), 0
    good: list[tuple[int, Answer]] = []
    failures: list[RowFailure] = []
    while failed:
        begin, end, error = failed.popleft()
        if end - begin == 1 or attempts >= ATTEMPTS_MAX:
            failures += [RowFailure(row, told(error)) for row in range(begin, end)]
            continue
        middle = (begin + end) // 2
        for part in (slice(begin, middle), slice(middle, end)):
            attempts += 1
            try:
                good.append((part.start, forward([x[part] for x in inputs], [x[part] for x in states], version)))
            except Exception as again:  # noqa: BLE001  # As above.
                failed.append(_Failed(part.start, part.stop, again))
    return good, sorted(failures)


def _assembled(rows: int, good: list[tuple[int, Answer]], failures: list[RowFailure]) -> Answer:
    """Returns one answer; rows that failed are zeros."""
    first = good[0][1]
    outputs = [np.zeros((rows, *leaf.shape[1:]), leaf.dtype) for leaf in first.outputs]
    states = [np.zeros((rows, *leaf.shape[1:]), leaf.dtype) for leaf in first.states]
    for begin, answer in good:
        for whole, part in zip((*outputs, *states), (*answer.outputs, *answer.states), strict=True):
            whole[begin : begin + len(part)] = part
    return Answer(outputs, states, first.version, tuple(failures))
