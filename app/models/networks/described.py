"""Observations and actions as a config describes them: plain YAML to specs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, Self, TypeVar

import numpy as np
from pydantic import ValidationError, field_validator, model_validator

from app.config.base import Config
from app.config.problems import Problems, joined
from app.config.validation import schema_problems
from app.models.distributions.categorical import Categorical
from app.models.distributions.distribution import Distribution
from app.models.distributions.gaussian import Gaussian
from app.models.distributions.multi_discrete import multi_discrete
from app.models.distributions.squashed_gaussian import SquashedGaussian
from app.models.spec import ArraySpec
from app.nested import Nested, Structure

T = TypeVar("T")

ARRAY_KEYS: Final = ("shape",)
"""A mapping with one of these is a leaf of an observation; any other holds parts by name."""
ACTION_KEYS: Final = ("choices", "points_at", "shape")
"""The same of an action."""
_KINDS: Final = frozenset("biuf")


class DescribedArray(Config):
    """One array of an observation."""

    shape: tuple[int, ...]
    """Without the batch axis; an empty list is a single number."""

    dtype: str = "float32"
    """Numpy name; uint8 for images, which are scaled inside."""

    @field_validator("shape")
    @classmethod
    def _is_positive(cls, shape: tuple[int, ...]) -> tuple[int, ...]:
        if any(size < 1 for size in shape):
            raise ValueError(f"shape is {list(shape)}; allowed are positive sizes")
        return shape

    @field_validator("dtype")
    @classmethod
    def _is_a_number(cls, dtype: str) -> str:
        try:
            if np.dtype(dtype).kind in _KINDS and np.dtype(dtype).name == dtype:
                return dtype
        except TypeError:  # Unknown to numpy.
            pass
        raise ValueError(f"dtype is {dtype!r}; allowed are numpy names of numbers such as float32, uint8 and bool")


class DescribedAction(Config):
    """One leaf of an action: choices, entities to choose among, or real numbers with bounds or without."""

    choices: int | tuple[int, ...] | None = None
    """How many there are; a list is one choice each."""

    points_at: str | None = None
    """Part of the observation, such as ``units``, whose entities are the choices."""

    shape: tuple[int, ...] | None = None
    """Of the real numbers; an empty list is a single one."""

    low: float | tuple[float, ...] | None = None
    """Smallest number: one for all, or one for each."""

    high: float | tuple[float, ...] | None = None
    """Largest number."""

    @model_validator(mode="after")
    def _is_one_kind(self) -> Self:
        given = [name for name in ACTION_KEYS if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"an action's leaf has one of {', '.join(ACTION_KEYS)}, got {', '.join(given) or 'none'}")
        if (self.low is None) != (self.high is None) or (self.low is not None and self.shape is None):
            raise ValueError("low and high stand together beside a shape, or both are left out")
        return self


@dataclass(frozen=True, slots=True)
class ActionLeaf:
    """One leaf of an action and where its choices come from."""

    distribution: Distribution
    points_at: str | None = None
    """Path of the observation's entities that are the choices."""


def observation_of(described: object) -> Nested[ArraySpec]:
    """Returns the specs that a config describes.

    Raises:
      ProblemsError: It describes none; the problems say where.
    """

    def array(leaf: DescribedArray) -> ArraySpec:
        return ArraySpec(leaf.shape, leaf.dtype)

    return _Reader(DescribedArray, ARRAY_KEYS, array).read(described, "observation")


def action_of(described: object, observation: Structure[ArraySpec]) -> Nested[ActionLeaf]:
    """Returns the leaves of the action that a config describes.

    Args:
      described: What the config holds.
      observation: What some of them may point at.

    Raises:
      ProblemsError: It describes none; the problems say where.
    """

    def leaf_of(leaf: DescribedAction) -> Nested[ActionLeaf]:
        if leaf.points_at is not None:
            return ActionLeaf(Categorical(_entities(leaf.points_at, observation)), leaf.points_at)
        if isinstance(leaf.choices, tuple):
            return tuple(map(ActionLeaf, multi_discrete(leaf.choices)))
        if leaf.choices is not None:
            return ActionLeaf(Categorical(leaf.choices))
        if leaf.low is None or leaf.high is None:
            return ActionLeaf(Gaussian(leaf.shape or ()))
        return ActionLeaf(SquashedGaussian(leaf.low, leaf.high, leaf.shape or ()))

    return _Reader(DescribedAction, ACTION_KEYS, leaf_of).read(described, "action")


class ProblemsError(ValueError):
    """A description is wrong; ``problems`` says where and why."""

    def __init__(self, problems: Problems) -> None:
        super().__init__("; ".join(f"{path}: {text}" for path, text in problems.items()))
        self.problems = problems


LeafT = TypeVar("LeafT", bound=Config)


@dataclass(frozen=True, slots=True)
class _Reader(Generic[LeafT, T]):
    """Turns mappings to dicts, lists to tuples, and what is described at the leaves to what ``make`` returns."""

    schema: type[LeafT]
    keys: tuple[str, ...]
    """Those by which a leaf is known."""
    make: Callable[[LeafT], Nested[T]]

    def read(self, described: object, path: str) -> Nested[T]:
        if isinstance(described, Mapping):
            return self._leaf(described, path) if self._is_leaf(described) else self._parts(described, path)
        if isinstance(described, list | tuple) and described:
            return tuple(self.read(part, joined(path, at)) for at, part in enumerate(described))
        raise ProblemsError({path: f"is {described!r}; allowed is a leaf, parts by name, or a list of parts"})

    def _parts(self, described: Mapping[Any, Any], path: str) -> Nested[T]:
        if not described:
            raise ProblemsError({path: f"is empty; allowed is a leaf with {' or '.join(self.keys)}, or parts by name"})
        return {str(name): self.read(part, joined(path, name)) for name, part in described.items()}

    def _leaf(self, described: Mapping[Any, Any], path: str) -> Nested[T]:
        try:
            return self.make(self.schema.model_validate(described))
        except ValidationError as error:
            found = schema_problems(error, self.schema)
            raise ProblemsError({joined(path, at) if at else path: text for at, text in found.items()}) from error
        except ValueError as error:
            raise ProblemsError({path: str(error)}) from error

    def _is_leaf(self, described: Mapping[Any, Any]) -> bool:
        return any(key in described and not isinstance(described[key], Mapping) for key in self.keys)


def _entities(path: str, observation: Structure[ArraySpec]) -> int:
    shapes = {name: leaf.shape for name, leaf in zip(observation.paths, observation.leaves, strict=True)}
    rows = {name: shape[0] for name, shape in shapes.items() if len(shape) == 2}  # noqa: PLR2004  # Entities, features.
    if path not in rows:
        raise ValueError(
            f"points_at is {path!r}; allowed are parts of the observation with rows of entities: "
            f"{', '.join(map(repr, rows)) or 'there are none'}"
        )
    return rows[path]
