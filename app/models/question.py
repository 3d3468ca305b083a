"""One session's question to a policy, and the decision that it gets."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from app.models.distributions.action import act
from app.models.distributions.distribution import Floats, Mask
from app.models.masks import Masks, fitting_masks, stacked_masks
from app.models.spec import ArraySpec, ModelSpec
from app.nested import Nested, Structure
from app.types import Amount, Version

_ARRAYS: Final = (np.ndarray, np.generic)  # A scalar's row of a batch is no array.

Leaves = list[NDArray[np.generic]]
"""The leaves of a nested value, in the order of its structure."""

GREEDY: Final[tuple[float, ...]] = ()
"""In place of uniform numbers: take the most probable action."""


@dataclass(slots=True)
class Question:
    """One session's observation."""

    observation: Nested[NDArray[np.generic]]
    uniforms: Sequence[float]
    """Numbers in [0, 1) that pick the action, as many as ``draws`` says; ``GREEDY`` for the most probable one."""
    mask: Nested[Mask | None] | None = None
    """Allowed choices, nested like the action; None allows all, at a leaf or everywhere."""
    version: Version | None = None
    """Pinned version; None is the newest."""
    state: Nested[NDArray[np.generic]] | None = None
    """State before this tick; None begins a game."""
    explains: bool = False
    """Whether the decision is to tell what it was drawn from."""
    temperature: float = 1.0
    """Above 0: its action is drawn with each probability to the power of 1 / temperature."""


class Decision(NamedTuple):
    """An action and what the policy thought of it."""

    action: Any
    """Nested like the model's action: a whole number for a choice, an array where the action is one."""
    log_prob: float
    value: Amount
    version: Version
    state: Any = None
    """State after this tick, nested like the model's; None without one."""
    policy_target: NDArray[np.float32] | None = None
    """How probable each choice ought to be, [choices], where a search found it; else None."""
    dist_inputs: list[NDArray[np.float32]] | None = None
    """What each leaf of the action was drawn from, [inputs]: what the network gave, at the question's temperature; None
    where the question did not want it."""


@dataclass(slots=True, eq=False)  # Made in half the time of a named tuple.
class Prepared:
    """A question that fits the model, by leaves."""

    inputs: Leaves
    """Without a batch axis."""
    states: Leaves
    """Likewise; none without a state."""
    masks: Masks | None
    uniforms: Sequence[float]
    version: Version | None
    explains: bool = False
    temperature: float = 1.0


def first_state(spec: ModelSpec) -> Any:
    """Returns the state in which a game begins, nested like the model's; None without one."""
    return spec.states.unflatten([np.zeros(leaf.shape, leaf.dtype) for leaf in spec.states.leaves])


def prepare(question: Question, spec: ModelSpec) -> Prepared:
    """Returns a question by leaves; one that does not fit would spoil the batch that it joins.

    Raises:
      ValueError: It does not fit the model, or the model is no policy.
    """
    if spec.action is None:
        raise ValueError("the model is no policy: it answers with outputs and decides nothing")
    if question.uniforms and len(question.uniforms) != spec.draws:
        raise ValueError(f"the question brings {len(question.uniforms)} uniform numbers; an action takes {spec.draws}")
    inputs = fitting("observation", question.observation, spec.inputs)
    states: Leaves = []
    if spec.states.leaves:
        states = fitting("state", first_state(spec) if question.state is None else question.state, spec.states)
    masks = None if question.mask is None else fitting_masks(question.mask, spec.actions)
    return Prepared(inputs, states, masks, question.uniforms, question.version, question.explains, question.temperature)


def stacked(spec: ModelSpec, questions: Sequence[Prepared]) -> tuple[Leaves, Leaves]:
    """Returns the inputs and states of questions as one batch, each leaf [B, …]."""
    inputs = _stacked(spec.inputs, [question.inputs for question in questions])
    return inputs, _stacked(spec.states, [question.states for question in questions]) if spec.states.leaves else []


def fitting(what: str, nested: object, part: Structure[ArraySpec], batch: int = 0) -> Leaves:
    """Returns the leaves of a value that fits a part of a spec, behind ``batch`` batch axes.

    Raises:
      ValueError: It does not fit; the message says where.
    """
    try:
        leaves = part.flatten(nested)
    except (ValueError, TypeError) as error:
        raise ValueError(f"the {what} is not nested like the model's: {error}") from error
    # As many as the spec's, or they would not be nested alike.
    for leaf, path, array in zip(part.leaves, part.paths, leaves):  # noqa: B905
        if (
            not isinstance(array, _ARRAYS)
            or array.dtype != leaf.numpy_dtype
            or (array.shape[batch:] if batch else array.shape) != leaf.shape
        ):
            raise ValueError(_misfit(f"{what}/{path}" if path else what, leaf, array, batch))
    return leaves


def decisions(
    spec: ModelSpec, questions: Sequence[Prepared], outputs: Sequence[NDArray[np.generic]], states: Leaves,
    version: Version,
) -> list[Decision | ValueError]:  # fmt: skip
    """Returns a decision for each question, or what is wrong with the network's answer to it.

    Args:
      spec: The policy's.
      questions: One a row.
      outputs: The network's answer by leaves: inputs of the distribution, and behind them the value, each [B, …].
      states: Next state by leaves, [B, …].
      version: Who answered.
    """
    *dist_inputs, value = outputs
    greedy = (math.nan,) * spec.draws
    uniforms = np.array([question.uniforms or greedy for question in questions], np.float64)
    drawn_from = _tempered(spec, questions, [np.asarray(x, np.float32) for x in dist_inputs])
    whole = act(
        spec.actions,
        drawn_from,
        uniforms,
        stacked_masks(spec.actions, [question.masks for question in questions]),
    )
    actions = spec.actions.rows([_items(leaf) for leaf in whole.actions])
    following = spec.states.rows([_kept(leaf) for leaf in states]) if states else repeat(None)
    log_probs = whole.log_probs.tolist()
    values = _items(value)
    found: list[Decision | ValueError] = list(map(Decision, actions, log_probs, values, repeat(version), following))
    if True in [question.explains for question in questions]:
        _explain(found, questions, drawn_from)
    sums = values if value.ndim == 1 else value.sum(1).tolist()
    if not math.isfinite(sum(log_probs) + sum(sums)):
        for row, (log_prob, worth) in enumerate(zip(log_probs, sums, strict=True)):
            if not math.isfinite(log_prob + worth):
                found[row] = ValueError(f"the network's log-probability is {log_prob:g} and its value {values[row]}")
    for leaf, path in zip(states, spec.states.paths, strict=True):
        finite = np.isfinite(leaf)
        if not finite.all():
            for row in np.flatnonzero(~finite.reshape(len(leaf), -1).all(axis=1)).tolist():
                found[row] = ValueError(f"the network's next state {path} is not finite")
    return found


def _tempered(spec: ModelSpec, questions: Sequence[Prepared], dist_inputs: list[Floats]) -> list[Floats]:
    """Returns what actions are drawn from, [B, inputs] a leaf, at the temperature of each question."""
    wanted = [question.temperature for question in questions]
    if wanted.count(1.0) == len(wanted):
        return dist_inputs
    temperatures = np.array(wanted, np.float32)[:, None]
    return [leaf.tempered(x, temperatures) for leaf, x in zip(spec.actions.leaves, dist_inputs, strict=True)]


def _explain(found: list[Decision | ValueError], questions: Sequence[Prepared], dist_inputs: Sequence[Floats]) -> None:
    """Adds what it was drawn from to each decision whose question wants it."""
    for row, (decision, question) in enumerate(zip(found, questions, strict=True)):
        if question.explains and isinstance(decision, Decision):
            found[row] = decision._replace(dist_inputs=[leaf[row].copy() for leaf in dist_inputs])


def _misfit(name: str, leaf: ArraySpec, array: Any, batch: int) -> str:
    got = f"{array.dtype} {array.shape}" if isinstance(array, _ARRAYS) else type(array).__name__
    behind = " behind a batch axis" if batch else ""
    return f"the {name} is {got}; the model takes {leaf.dtype} {leaf.shape}{behind}"


def _items(leaf: NDArray[np.generic]) -> Sequence[Any]:
    """Returns the rows of one leaf: plain numbers, or an array each."""
    return leaf.tolist() if leaf.ndim == 1 else list(leaf)


def _kept(leaf: NDArray[np.generic]) -> Leaves:
    """Returns copies of a leaf's rows: a row itself would keep the whole batch, and one of a number is no array."""
    return [np.array(row) for row in leaf]


def _stacked(part: Structure[ArraySpec], questions: Sequence[Leaves]) -> Leaves:
    columns = zip(part.leaves, zip(*questions, strict=True), strict=True)
    return [_column(leaf, rows) for leaf, rows in columns]


def _column(leaf: ArraySpec, rows: Sequence[NDArray[np.generic]]) -> NDArray[np.generic]:
    """Returns what ``np.stack`` does, in a third of the time where the rows are small."""
    if not leaf.shape:
        return np.array(rows, leaf.numpy_dtype)
    return np.concatenate(rows).reshape(len(rows), *leaf.shape)
