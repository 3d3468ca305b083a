"""How many observations a network is asked about at once."""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from app.models.engine import Answer
from app.models.question import Leaves
from app.types import Version

Forward = Callable[[Leaves, Leaves, Version | None], Answer]
"""Answers a batch: the leaves of observations and states, each [B, …], and the version that is to answer."""


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """Bounds of one model's batches and of what waits for them."""

    max_rows: int = 1024
    """Observations in one batch."""
    max_waiting_rows: int = 20_000
    """Observations that may wait; where so many do, a further question is refused as ``overloaded``."""
    wait_s: float = 0.0
    """Longest wait for a fuller batch."""
    pad_to: tuple[int, ...] = ()
    """Sizes, rising, that batches are padded to; none leaves them as they are."""


DEFAULT_LIMITS: Final = BatchLimits()


def sized(forward: Forward, limits: BatchLimits) -> Forward:
    """Returns a forward that takes any number of rows and asks ``forward`` for allowed ones alone.

    More than ``max_rows`` are asked one part after the other. A batch is padded with copies of its last row, which
    keeps the range of its values, and its answer is cut.
    """
    max_rows, sizes = limits.max_rows, limits.pad_to

    def padded(inputs: Leaves, states: Leaves, version: Version | None) -> Answer:
        rows = len(inputs[0])
        at = bisect_left(sizes, rows)
        if at == len(sizes) or sizes[at] == rows:
            return forward(inputs, states, version)
        more = sizes[at] - rows
        answer = forward(_repeated(inputs, more), _repeated(states, more), version)
        return Answer([leaf[:rows] for leaf in answer.outputs], [leaf[:rows] for leaf in answer.states], answer.version)

    def in_parts(inputs: Leaves, states: Leaves, version: Version | None) -> Answer:
        rows = len(inputs[0])
        if rows <= max_rows:
            return padded(inputs, states, version)
        cuts = [slice(at, at + max_rows) for at in range(0, rows, max_rows)]
        answers = [padded([x[cut] for x in inputs], [x[cut] for x in states], version) for cut in cuts]
        return Answer(
            joined([answer.outputs for answer in answers]),
            joined([answer.states for answer in answers]),
            answers[0].version,
        )

    return in_parts


def joined(parts: list[Leaves]) -> Leaves:
    """Returns the leaves of several batches as those of one."""
    return list(parts[0]) if len(parts) == 1 else [np.concatenate(leaves) for leaves in zip(*parts, strict=True)]


def _repeated(leaves: Leaves, more: int) -> Leaves:
    return [np.concatenate([leaf, np.repeat(leaf[-1:], more, axis=0)]) for leaf in leaves]
