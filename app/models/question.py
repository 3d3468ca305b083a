"""One session's question to a policy, and the decision that it gets."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from app.models.distributions.action import act
from app.models.distributions.distribution import Mask
from app.models.spec import ArraySpec, ModelSpec
from app.nested import Nested, Structure
from app.types import Version

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


class Decision(NamedTuple):
    """An action and what the policy thought of it."""

    action: Any
    """Nested like the model's action: a whole number for a choice, an array where the action is one."""
    log_prob: float
    value: float
    version: Version
    state: Any = None
    """State after this tick, nested like the model's; None without one."""


class Prepared(NamedTuple):
    """A question that fits the model, by leaves."""

    inputs: Leaves
    """Each [1, …]."""
    states: Leaves
    """Each [1, …]."""
    masks: list[Mask | None] | None
    uniforms: Sequence[float]
    version: Version | None


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
    masks = None if question.mask is None else _masks(question.mask, spec)
    return Prepared([x[None] for x in inputs], [x[None] for x in states], masks, question.uniforms, question.version)


def fitting(what: str, nested: object, part: Structure[ArraySpec], batch: int = 0) -> Leaves:
    """Returns the leaves of a value that fits a part of a spec, behind ``batch`` batch axes.

    Raises:
      ValueError: It does not fit; the message says where.
    """
    try:
        leaves = part.flatten(nested)
    except (ValueError, TypeError) as error:
        raise ValueError(f"the {what} is not nested like the model's: {error}") from error
    for leaf, path, array in zip(part.leaves, part.paths, leaves, strict=True):
        given = isinstance(array, np.ndarray | np.generic)  # A scalar's row of a batch is no array.
        if not given or array.shape[batch:] != leaf.shape or array.dtype != leaf.numpy_dtype:
            got = f"{array.dtype} {array.shape}" if given else type(array).__name__
            name = f"{what}/{path}" if path else what
            behind = " behind a batch axis" if batch else ""
            raise ValueError(f"the {name} is {got}; the model takes {leaf.dtype} {leaf.shape}{behind}")
    return leaves


def decisions(
    spec: ModelSpec, questions: Sequence[Prepared], outputs: Sequence[NDArray[np.generic]], states: Leaves,
    version: Version,
) -> list[Decision | ValueError]:  # fmt: skip
    """Returns a decision for each question, or what is wrong with the network's answer to it.

    Args:
      spec: The policy's.
      questions: One a row.
      outputs: The network's answer by leaves, inputs of the distribution [B, …] and then the value [B].
      states: Next state by leaves, [B, …].
      version: Who answered.
    """
    *dist_inputs, value = outputs
    greedy = (math.nan,) * spec.draws
    uniforms = np.array([question.uniforms or greedy for question in questions], np.float64)
    whole = act(spec.actions, [np.asarray(x, np.float32) for x in dist_inputs], uniforms, _stacked(spec, questions))
    chosen = [_items(leaf) for leaf in whole.actions]
    rows = zip(zip(*chosen, strict=True), whole.log_probs.tolist(), value.tolist(), strict=True)
    found: list[Decision | ValueError] = []
    for row, (action, log_prob, worth) in enumerate(rows):
        if not math.isfinite(log_prob + worth):
            found.append(ValueError(f"the network's log-probability is {log_prob:g} and its value {worth:g}"))
            continue
        # Copies: a row of the batch would keep all of it, and a row of a single number would be no array.
        state = spec.states.unflatten([np.array(leaf[row]) for leaf in states]) if states else None
        found.append(Decision(spec.actions.unflatten(action), log_prob, worth, version, state))
    return found


def _items(leaf: NDArray[np.generic]) -> Sequence[Any]:
    """Returns the actions of one leaf: plain numbers, or an array each."""
    return leaf.tolist() if leaf.ndim == 1 else list(leaf)


def _masks(nested: object, spec: ModelSpec) -> list[Mask | None]:
    try:
        masks = spec.actions.flatten(nested)
    except (ValueError, TypeError) as error:
        raise ValueError(f"the mask is not nested like the model's action: {error}") from error
    for leaf, path, mask in zip(spec.actions.leaves, spec.actions.paths, masks, strict=True):
        if mask is None:
            continue
        name = f"mask/{path}" if path else "mask"
        if not leaf.choices:
            raise ValueError(f"the {name} is {mask}; an action of {leaf} has no choices, allowed is None")
        if mask.shape != (leaf.choices,) or mask.dtype != bool or not mask.any():
            raise ValueError(f"the {name} is {mask}; the model takes {leaf.choices} booleans, at least one true")
    return masks


def _stacked(spec: ModelSpec, questions: Sequence[Prepared]) -> list[Mask | None]:
    """Returns the masks of each leaf, [B, choices]; None where no question has one there."""
    if all(question.masks is None for question in questions):
        return [None] * len(spec.actions)
    stacked: list[Mask] = [np.ones((len(questions), leaf.choices), bool) for leaf in spec.actions.leaves]
    given = [False] * len(stacked)
    for row, question in enumerate(questions):
        for at, mask in enumerate(question.masks or ()):
            if mask is not None:
                stacked[at][row] = mask
                given[at] = True
    return [mask if any_given else None for mask, any_given in zip(stacked, given, strict=True)]
