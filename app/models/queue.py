"""Collects the questions of all sessions and asks the network once for all of them."""

import asyncio
import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from app.errors import AgentError, OverloadedError
from app.models.distributions import choose, log_softmax
from app.models.engine import Answer
from app.models.spec import ModelSpec
from app.types import Version

GREEDY = float("nan")
"""In place of a uniform number: take the most probable action."""


class Decision(NamedTuple):
    """An action and what the policy thought of it."""

    action: int
    log_prob: float
    value: float
    version: Version


class Model(Protocol):
    """What an agent asks, wherever the network runs."""

    spec: ModelSpec

    def decide(self, question: "Question") -> Awaitable[Decision]:
        """Returns the decision for one observation."""

    async def ensure(self, version: Version | None) -> Version:
        """Makes a version answerable until it is released, and returns it; None means the newest one."""

    def release(self, version: Version) -> None:
        """Lets a version go that ``ensure`` returned."""


@dataclass(slots=True)
class Question:
    """One session's observation."""

    observation: NDArray[np.generic]
    uniform: float
    """Number in [0, 1) that picks the action; ``GREEDY`` for the most probable one."""
    mask: NDArray[np.bool_] | None = None
    """Allowed actions, [actions]; None allows all."""
    version: Version | None = None
    """Pinned version; None is the newest."""


class _Waiting(NamedTuple):
    question: Question
    decision: asyncio.Future[Decision]


Forward = Callable[[NDArray[np.generic], Version | None], Answer]
AsyncForward = Callable[[NDArray[np.generic], Version | None], Awaitable[Answer]]


class _Queue:
    """Questions that arrived since the last batch, bounded."""

    def __init__(self, max_waiting: int) -> None:
        self._max = max_waiting
        self._waiting: list[_Waiting] = []

    def put(self, question: Question) -> asyncio.Future[Decision]:
        if len(self._waiting) >= self._max:
            raise OverloadedError(f"{self._max} observations already wait for the model")
        decision: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(question, decision))
        return decision

    def __len__(self) -> int:
        return len(self._waiting)

    def take(self) -> dict[Version | None, list[_Waiting]]:
        """Takes all that still want an answer, by version."""
        waiting, self._waiting = self._waiting, []
        groups: dict[Version | None, list[_Waiting]] = {}
        for item in waiting:
            if not item.decision.done():
                groups.setdefault(item.question.version, []).append(item)
        return groups


class LocalQueue:
    """Answers in this process: all that arrived in one turn of the event loop is one batch."""

    def __init__(self, forward: Forward, max_waiting: int) -> None:
        self._forward = forward
        self._queue = _Queue(max_waiting)
        self.batches = 0

    def decide(self, question: Question) -> asyncio.Future[Decision]:
        """Returns the decision to come.

        Raises:
          OverloadedError: Too many questions wait already.
        """
        if not self._queue:
            asyncio.get_running_loop().call_soon(self._answer_all)
        return self._queue.put(question)

    def _answer_all(self) -> None:
        for version, group in self._queue.take().items():
            self.batches += 1
            try:
                _settle(group, self._forward(_stack(group), version))
            except Exception as error:  # noqa: BLE001  # The user's network may raise anything; each waiter is told.
                _fail(group, error)


class RemoteQueue:
    """Answers from another process: one call is under way at a time and carries all that wait."""

    def __init__(self, forward: AsyncForward, max_waiting: int, timeout_s: float) -> None:
        self._forward = forward
        self._queue = _Queue(max_waiting)
        self._timeout_s = timeout_s
        self._pump: asyncio.Task[None] | None = None
        self.batches = 0

    def decide(self, question: Question) -> asyncio.Future[Decision]:
        """Returns the decision to come.

        Raises:
          OverloadedError: Too many questions wait already.
        """
        decision = self._queue.put(question)
        if self._pump is None or self._pump.done():
            self._pump = asyncio.get_running_loop().create_task(self._answer_waiting())
        return decision

    async def _answer_waiting(self) -> None:
        await asyncio.sleep(0)  # Lets the rest of this loop turn join the batch.
        while self._queue:
            for version, group in self._queue.take().items():
                await self._answer(version, group)

    async def _answer(self, version: Version | None, group: list[_Waiting]) -> None:
        self.batches += 1
        try:
            async with asyncio.timeout(self._timeout_s):
                _settle(group, await self._forward(_stack(group), version))
        except asyncio.CancelledError as error:  # The call's end where this task's was not asked for.
            _fail(group, error)
            if (task := asyncio.current_task()) is not None and task.cancelling():
                raise
        except Exception as error:  # noqa: BLE001  # Whatever the other process raised, each waiter is told.
            _fail(group, error)


def _stack(group: Sequence[_Waiting]) -> NDArray[np.generic]:
    return np.stack([item.question.observation for item in group])


def _fail(group: Sequence[_Waiting], error: BaseException) -> None:
    for item in group:
        if not item.decision.done():
            failure = AgentError(f"the model did not answer: {type(error).__name__}: {error}")
            failure.__cause__ = error
            item.decision.set_exception(failure)


def _settle(group: Sequence[_Waiting], answer: Answer) -> None:
    if answer.value.shape != (len(group),) or answer.logits.shape[:1] != (len(group),):
        raise ValueError(
            f"the network answered {len(group)} observations with logits {answer.logits.shape} and values "
            f"{answer.value.shape}; wanted are [B, actions] and [B]"
        )
    masks = [item.question.mask for item in group]
    mask = None
    if any(m is not None for m in masks):
        everything = np.ones(answer.logits.shape[1], bool)
        mask = np.stack([everything if m is None else m for m in masks])
    log_probs = log_softmax(answer.logits, mask)
    actions = choose(log_probs, np.array([item.question.uniform for item in group]))
    chosen = log_probs[np.arange(len(actions)), actions].tolist()
    for item, action, log_prob, value in zip(group, actions.tolist(), chosen, answer.value.tolist(), strict=True):
        if not math.isfinite(log_prob + value):
            _fail([item], ValueError(f"the network's log-probability is {log_prob:g} and its value {value:g}"))
        elif not item.decision.done():
            item.decision.set_result(Decision(action, log_prob, value, answer.version))
