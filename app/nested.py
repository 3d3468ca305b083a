"""Nested values: dicts and tuples of leaves, flattened in one order everywhere."""

from collections.abc import Sequence
from typing import Any, Generic, TypeVar, Union, cast

import optree

T = TypeVar("T")

Nested = Union[T, "dict[str, Nested[T]]", "tuple[Nested[T], ...]"]  # A generic alias of itself.
"""A leaf, or dicts and tuples of such."""


class Structure(Generic[T]):
    """The dicts and tuples of a nested value, without its leaves; None has none at all."""

    __slots__ = ("_tree", "leaves", "paths", "single")

    def __init__(self, nested: Nested[T] | None) -> None:
        """Takes the structure of a value.

        Raises:
          ValueError: It holds another container than dicts with text as keys and tuples, or a key with a slash.
        """
        _check(nested, "")
        leaves, self._tree = optree.tree_flatten(cast("Any", nested))
        self.leaves: tuple[T, ...] = tuple(leaves)
        """The leaves that the structure was taken from."""
        self.paths: tuple[str, ...] = tuple("/".join(map(str, path)) for path in optree.treespec_paths(self._tree))
        """Where each leaf stands, such as ``units/0``; "" for a leaf that stands alone."""
        self.single = self.paths == ("",)
        """Whether the value is one leaf alone."""

    def __len__(self) -> int:
        return len(self.paths)

    def flatten(self, nested: Any) -> list[Any]:
        """Returns the leaves of a value of this structure; whatever stands at a leaf's place is a leaf.

        Raises:
          ValueError: It has another structure.
        """
        if self.single:
            return [nested]
        return self._tree.flatten_up_to(nested)

    def unflatten(self, leaves: Sequence[Any]) -> Any:
        """Returns the nested value of these leaves."""
        return leaves[0] if self.single else self._tree.unflatten(leaves)

    def rows(self, leaves: Sequence[Sequence[Any]]) -> Sequence[Any]:
        """Returns the nested value of each row, where each leaf brings one part a row."""
        return leaves[0] if self.single else [self._tree.unflatten(row) for row in zip(*leaves, strict=True)]

    def columns(self, name: str) -> tuple[str, ...]:
        """Returns a column's name for each leaf: ``name``, with the leaf's path behind a slash where it has one."""
        return tuple(f"{name}/{path}" if path else name for path in self.paths)


def _check(nested: object, where: str) -> None:
    if isinstance(nested, dict):
        for key, value in nested.items():
            if not isinstance(key, str) or not key or "/" in key:
                raise ValueError(f"{where or 'the value'} has the key {key!r}; allowed is text without a slash")
            _check(value, f"{where}/{key}".lstrip("/"))
    elif isinstance(nested, tuple):
        for number, value in enumerate(nested):
            _check(value, f"{where}/{number}".lstrip("/"))
    elif isinstance(nested, list | set):
        kind = type(nested).__name__
        raise ValueError(f"{where or 'the value'} is a {kind}; allowed are dicts and tuples")  # noqa: TRY004  # As above.
