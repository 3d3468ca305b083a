"""The two places where a model answers; agents see one interface."""

from collections.abc import Awaitable
from typing import Any, Protocol

import numpy as np

from app.errors import AgentError
from app.models.batching import DEFAULT_LIMITS, BatchLimits, sized
from app.models.engine import Answer, Engine
from app.models.loading import FetchWeights, WeightsLoader
from app.models.model import Output
from app.models.question import Decision, Leaves, Question, fitting, prepare
from app.models.queue import LocalQueue, RemoteQueue
from app.models.spec import ModelSpec
from app.models.waiting import Batch, Within
from app.types import Version

REMOTE_TIMEOUT_S = 10.0
"""Longest call to a remote model; a tick's own deadline is usually shorter."""


class LocalModel:
    """A network in this process, micro-batched over its sessions."""

    def __init__(self, engine: Engine, fetch: FetchWeights, limits: BatchLimits = DEFAULT_LIMITS) -> None:
        self.engine = engine
        self.spec = engine.spec
        self._forward = sized(engine.forward, limits)
        self.queue = LocalQueue(engine.spec, self._forward, limits)
        self.weights = WeightsLoader(engine, fetch)

    def decide(self, question: Question) -> Awaitable[Decision]:
        """Returns the decision to come; see ``Model``."""
        return self.queue.decide(prepare(question, self.spec))

    async def forward(self, observation: Any, state: Any = None, version: Version | None = None) -> Output:
        """Returns what the network answers to one observation or to a batch; see ``Model``."""
        return await forwarded(self.queue, self.spec, observation, state, version)

    def forward_now(self, observation: Any, state: Any = None, version: Version | None = None) -> Output:
        """Returns the same as ``forward``, at once and in a batch of its own.

        Raises:
          ValueError: The observation does not fit the model, or the answer not its spec.
        """
        batch, single = _batch(self.spec, observation, state, version)
        return _output(self.spec, self._forward(*batch), single=single)

    async def ensure(self, version: Version | None) -> Version:
        """Holds a version until it is released, fetching its weights where needed; None holds the newest weights."""
        return await self.weights.ensure(version)

    def release(self, version: Version) -> None:
        """Lets a version go that ``ensure`` returned."""
        self.weights.release(version)


class Remote(Protocol):
    """The other end of a remote model."""

    async def forward(self, inputs: Leaves, states: Leaves, version: Version | None, within: Within) -> Answer:
        """Returns the answer to a batch, given and taken by leaves, that is wanted within so many seconds."""

    async def ensure(self, version: Version | None) -> Version:
        """Keeps a version answerable until it is released, and returns it; None means the newest."""

    def release(self, version: Version) -> None:
        """Lets a version go that ``ensure`` returned."""


class RemoteModel:
    """A network in another process, asked once for all sessions that wait."""

    def __init__(self, spec: ModelSpec, remote: Remote, limits: BatchLimits = DEFAULT_LIMITS) -> None:
        self.spec = spec
        self.queue = RemoteQueue(spec, remote.forward, limits, REMOTE_TIMEOUT_S)
        self._remote = remote

    def decide(self, question: Question) -> Awaitable[Decision]:
        """Returns the decision to come; see ``Model``."""
        return self.queue.decide(prepare(question, self.spec))

    async def forward(self, observation: Any, state: Any = None, version: Version | None = None) -> Output:
        """Returns what the network answers to one observation or to a batch; see ``Model``."""
        return await forwarded(self.queue, self.spec, observation, state, version)

    async def ensure(self, version: Version | None) -> Version:
        """Holds a version until it is released and returns it; None holds the newest weights."""
        return await self._remote.ensure(version)

    def release(self, version: Version) -> None:
        """Lets a version go that ``ensure`` returned."""
        self._remote.release(version)


async def forwarded(
    queue: LocalQueue | RemoteQueue, spec: ModelSpec, observation: Any, state: Any, version: Version | None
) -> Output:
    """Returns what a queue answers to one observation or to a batch, nested.

    Raises:
      AgentError: The network failed, or did not answer in time.
      OverloadedError: Too many wait already.
      ValueError: The observation does not fit the model.
    """
    batch, single = _batch(spec, observation, state, version)
    return _output(spec, await queue.answer(batch), single=single)


def check_batch(spec: ModelSpec, inputs: Leaves, states: Leaves) -> None:
    """Does nothing where a batch fits the model; any other would spoil the batch that it joins.

    Raises:
      ValueError: It does not fit, or holds no row.
    """
    fitting("observation", spec.inputs.unflatten(inputs), spec.inputs, batch=1)
    fitting("state", spec.states.unflatten(states), spec.states, batch=1)
    rows = {len(leaf) for leaf in (*inputs, *states)}
    if len(rows) != 1 or 0 in rows:
        raise ValueError(f"the leaves of a batch have {sorted(rows)} rows; allowed is one number of at least 1")


def _batch(spec: ModelSpec, observation: Any, state: Any, version: Version | None) -> tuple[Batch, bool]:
    """Returns a batch by leaves, and whether one observation was given."""
    inputs = spec.inputs.flatten(observation)
    single = bool(inputs) and np.ndim(inputs[0]) == len(spec.inputs.leaves[0].shape)
    inputs = fitting("observation", observation, spec.inputs, batch=int(not single))
    if single:
        inputs = [leaf[None] for leaf in inputs]
    if state is None:
        states: Leaves = [np.zeros((len(inputs[0]), *leaf.shape), leaf.dtype) for leaf in spec.states.leaves]
    else:
        states = fitting("state", state, spec.states, batch=int(not single))
        states = [leaf[None] for leaf in states] if single else states
    check_batch(spec, inputs, states)
    return Batch(inputs, states, version), single


def _output(spec: ModelSpec, answer: Answer, *, single: bool) -> Output:
    if answer.failures:
        row, error = answer.failures[0]
        raise AgentError(f"the model did not answer row {row} of the batch: {error}")
    outputs, states = answer.outputs, answer.states
    if single:
        outputs, states = [leaf[0] for leaf in outputs], [leaf[0, ...] for leaf in states]  # 0-d, and no number.
    return Output(spec.answers.unflatten(outputs), spec.states.unflatten(states), answer.version)
