"""Collects what all sessions ask and asks the network once for all of it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from app.errors import AgentError, OverloadedError
from app.models.engine import Answer, check_answer
from app.models.question import Decision, Leaves, Prepared, decisions
from app.models.spec import ModelSpec
from app.types import Version

Forward = Callable[[Leaves, Leaves, Version | None], Answer]
AsyncForward = Callable[[Leaves, Leaves, Version | None], Awaitable[Answer]]


class Batch(NamedTuple):
    """Observations whose answers are wanted as they are, without a decision."""

    inputs: Leaves
    """Each [B, …]."""
    states: Leaves
    """Each [B, …]."""
    version: Version | None


class _Waiting(NamedTuple):
    asked: Prepared | Batch
    rows: int
    outcome: asyncio.Future[Any]


class _Queue:
    """What arrived since the last batch, bounded."""

    def __init__(self, max_waiting: int) -> None:
        self._max = max_waiting
        self._waiting: list[_Waiting] = []

    def put(self, asked: Prepared | Batch) -> asyncio.Future[Any]:
        if len(self._waiting) >= self._max:
            raise OverloadedError(f"{self._max} observations already wait for the model")
        outcome: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(asked, len(asked.inputs[0]), outcome))
        return outcome

    def __len__(self) -> int:
        return len(self._waiting)

    def take_of(self, version: Version | None) -> list[_Waiting]:
        """Takes those that still want an answer of one version."""
        taken = [item for item in self._waiting if item.asked.version == version]
        self._waiting = [item for item in self._waiting if item.asked.version != version]
        return [item for item in taken if not item.outcome.done()]

    def take(self) -> dict[Version | None, list[_Waiting]]:
        """Takes all that still want an answer, by version."""
        waiting, self._waiting = self._waiting, []
        groups: dict[Version | None, list[_Waiting]] = {}
        for item in waiting:
            if not item.outcome.done():
                groups.setdefault(item.asked.version, []).append(item)
        return groups


class LocalQueue:
    """Answers in this process: all that arrived in one turn of the event loop is one batch."""

    def __init__(self, spec: ModelSpec, forward: Forward, max_waiting: int) -> None:
        self._spec = spec
        self._forward = forward
        self._queue = _Queue(max_waiting)
        self.batches = 0

    def decide(self, question: Prepared) -> asyncio.Future[Decision]:
        """Returns the decision to come.

        Raises:
          OverloadedError: Too many wait already.
        """
        return self._put(question)

    def answer(self, batch: Batch) -> asyncio.Future[Answer]:
        """Returns the answer to come.

        Raises:
          OverloadedError: Too many wait already.
        """
        return self._put(batch)

    def _put(self, asked: Prepared | Batch) -> asyncio.Future[Any]:
        if not self._queue:
            asyncio.get_running_loop().call_soon(self._answer_all)
        return self._queue.put(asked)

    def _answer_all(self) -> None:
        for version, group in self._queue.take().items():
            self.batches += 1
            try:
                _settle(self._spec, group, self._forward(*_joined(group), version))
            except Exception as error:  # noqa: BLE001  # The user's network may raise anything; each waiter is told.
                _fail(group, error)


class RemoteQueue:
    """Answers from another process: of each version one call is under way at a time and carries all that wait for it.

    So who waits for weights that the other process has to fetch first keeps nobody else waiting.
    """

    def __init__(self, spec: ModelSpec, forward: AsyncForward, max_waiting: int, timeout_s: float) -> None:
        self._spec = spec
        self._forward = forward
        self._queue = _Queue(max_waiting)
        self._timeout_s = timeout_s
        self._pumps: dict[Version | None, asyncio.Task[None]] = {}
        self.batches = 0

    def decide(self, question: Prepared) -> asyncio.Future[Decision]:
        """Returns the decision to come.

        Raises:
          OverloadedError: Too many wait already.
        """
        return self._put(question)

    def answer(self, batch: Batch) -> asyncio.Future[Answer]:
        """Returns the answer to come.

        Raises:
          OverloadedError: Too many wait already.
        """
        return self._put(batch)

    def _put(self, asked: Prepared | Batch) -> asyncio.Future[Any]:
        outcome = self._queue.put(asked)
        version = asked.version
        pump = self._pumps.get(version)
        if pump is None or pump.done():
            self._pumps[version] = asyncio.get_running_loop().create_task(self._answer_waiting(version))
        return outcome

    async def _answer_waiting(self, version: Version | None) -> None:
        await asyncio.sleep(0)  # Lets the rest of this loop turn join the batch.
        try:
            while group := self._queue.take_of(version):
                await self._answer(version, group)
        finally:
            del self._pumps[version]

    async def _answer(self, version: Version | None, group: list[_Waiting]) -> None:
        self.batches += 1
        try:
            async with asyncio.timeout(self._timeout_s):
                _settle(self._spec, group, await self._forward(*_joined(group), version))
        except asyncio.CancelledError as error:  # The call's end where this task's was not asked for.
            _fail(group, error)
            if (task := asyncio.current_task()) is not None and task.cancelling():
                raise
        except Exception as error:  # noqa: BLE001  # Whatever the other process raised, each waiter is told.
            _fail(group, error)


def _joined(group: Sequence[_Waiting]) -> tuple[Leaves, Leaves]:
    """Returns the inputs and states of all as one batch."""
    return _concatenated([item.asked.inputs for item in group]), _concatenated([item.asked.states for item in group])


def _concatenated(parts: Sequence[Leaves]) -> Leaves:
    return list(parts[0]) if len(parts) == 1 else [np.concatenate(leaves) for leaves in zip(*parts, strict=True)]


def _fail(group: Sequence[_Waiting], error: BaseException) -> None:
    for item in group:
        if not item.outcome.done():
            failure = AgentError(f"the model did not answer: {type(error).__name__}: {error}")
            failure.__cause__ = error
            item.outcome.set_exception(failure)


def _settle(spec: ModelSpec, group: Sequence[_Waiting], answer: Answer) -> None:
    """Gives each who waits its part of the answer."""
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
        questions = [item.asked for item in deciding if isinstance(item.asked, Prepared)]
        decided = decisions(spec, questions, answer.outputs, answer.states, answer.version)
        for item, decision in zip(deciding, decided, strict=True):
            if isinstance(decision, ValueError):
                _fail([item], decision)
            elif not item.outcome.done():
                item.outcome.set_result(decision)
