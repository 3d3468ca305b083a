"""What runs a network: the newest weights and a few pinned older ones."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from app.models.question import Leaves
from app.models.spec import ModelSpec
from app.types import Arrays, Version


class RowFailure(NamedTuple):
    """A row that the network could not answer."""

    row: int
    error: str
    """What it raised."""


class Answer(NamedTuple):
    """What the network said about a batch, and which weights said it."""

    outputs: Leaves
    """The leaves of ``spec.answers``, each [B, …]."""
    states: Leaves
    """The leaves of the next state, each [B, …]; none without one."""
    version: Version
    failures: tuple[RowFailure, ...] = ()
    """Rows that made the network fail; what stands there in the leaves means nothing."""

    def split(self, rows: Sequence[int]) -> "list[Answer]":
        """Returns the answers to parts of the batch of so many rows each."""
        ends = np.cumsum(rows)
        outputs = [np.split(leaf, ends[:-1]) for leaf in self.outputs]
        states = [np.split(leaf, ends[:-1]) for leaf in self.states]
        return [
            Answer(
                [leaf[at] for leaf in outputs], [leaf[at] for leaf in states], self.version, self._failed(end - n, end)
            )
            for at, (end, n) in enumerate(zip(ends.tolist(), rows, strict=True))
        ]

    def _failed(self, begin: int, end: int) -> tuple[RowFailure, ...]:
        return tuple(RowFailure(row - begin, error) for row, error in self.failures if begin <= row < end)


class Engine(Protocol):
    """Answers batches; weights change only between two of them."""

    spec: ModelSpec

    @property
    def version(self) -> Version:
        """Version of the newest weights."""

    def forward(
        self, inputs: Sequence[NDArray[np.generic]], states: Sequence[NDArray[np.generic]], version: Version | None
    ) -> Answer:
        """Returns the answer to a batch, by the newest weights or by those pinned as ``version``.

        Args:
          inputs: The leaves of the observation, each [B, …].
          states: The leaves of the state, each [B, …]; none without one.
          version: Who is to answer.

        Raises:
          KeyError: That version is not pinned.
        """

    def build(self, arrays: Arrays) -> Any:
        """Makes of weights what ``swap`` and ``keep`` take; works in any thread, since it may take a while.

        Raises:
          ModelMismatchError: They do not fit the model.
        """

    def swap(self, version: Version, built: Any) -> None:
        """Makes what was built the newest."""

    def keep(self, version: Version, built: Any = None) -> None:
        """Keeps what was built beside the newest; None keeps the newest itself.

        Raises:
          OverloadedError: All versions that may be kept are held.
        """

    def has(self, version: Version) -> bool:
        """Returns whether a version is kept."""

    def hold(self, version: Version) -> None:
        """Keeps a version, however many follow, until it is released as often as it was held."""

    def release(self, version: Version) -> None:
        """Takes one hold back."""

    def newest_in_play(self) -> Version | None:
        """Returns a trainer's newest held version where no other can be kept; None where there is room."""

    def keep_for_good(self) -> None:
        """Keeps the newest weights for ever: no store has them."""


def told(error: BaseException) -> str:
    """Returns an error as whoever asked is told of it."""
    return f"{type(error).__name__}: {error}"


def check_answer(answer: Answer, spec: ModelSpec, rows: int) -> None:
    """Does nothing where an answer has the leaves that the spec tells, each with so many rows.

    Raises:
      ValueError: It has not.
    """
    for what, part, leaves in (("answer", spec.answers, answer.outputs), ("next state", spec.states, answer.states)):
        wanted = [(rows, *leaf.shape) for leaf in part.leaves]
        got = [leaf.shape for leaf in leaves]
        if got != wanted:
            named = ", ".join(f"{path or what} {list(shape)}" for path, shape in zip(part.paths, wanted, strict=True))
            raise ValueError(
                f"the network's {what} to {rows} observations has the shapes {[list(shape) for shape in got]}; "
                f"wanted are {named}"
            )
