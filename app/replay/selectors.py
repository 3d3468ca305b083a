"""What samplers and removers have in common."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.replay.held import Held


class Selector:
    """Follows the rows of the one table that it belongs to; one that looks at their order alone follows nothing."""

    def begin(self, capacity_rows: int) -> None:
        """Prepares for the slots 0 … ``capacity_rows`` - 1, all free."""

    def added(self, slots: NDArray[np.intp], priorities: NDArray[np.float64]) -> None:
        """Notes new rows, or new priorities of rows held, [N]."""

    def removed(self, slots: NDArray[np.intp]) -> None:
        """Notes rows that left, [N]."""


@dataclass(frozen=True, slots=True)
class Draw:
    """What a sampler chose."""

    slots: NDArray[np.intp]
    """Slots of the rows, [N]."""
    probabilities: NDArray[np.float64]
    """Chance of each of them in one draw, [N]."""


class Sampler(Selector, ABC):
    """Chooses the rows of a batch."""

    distinct: bool
    """Whether no row comes twice in a batch, which then cannot be larger than the table."""

    @abstractmethod
    def draw(self, held: Held, rows: int, rng: np.random.Generator) -> Draw:
        """Returns ``rows`` of the rows held; ``distinct`` ones fewer where there are fewer."""


class Remover(Selector, ABC):
    """Chooses the rows that make room when a table is full."""

    @abstractmethod
    def choose(self, held: Held, rows: int, rng: np.random.Generator) -> NDArray[np.intp]:
        """Returns the slots of ``rows`` distinct rows, of at least as many that are held, [N]."""
