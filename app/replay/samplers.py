"""Which rows a batch is made of."""

import math

import numpy as np
from numpy.typing import NDArray

from app.replay.held import Held
from app.replay.selectors import Draw, Sampler
from app.replay.sum_tree import SumTree


class OldestFirst(Sampler):
    """The rows that came first; the same ones again until they leave."""

    distinct = True

    def draw(self, held: Held, rows: int, rng: np.random.Generator) -> Draw:
        """Returns the oldest rows, oldest first, each with probability 1."""
        slots = held.oldest(rows)
        return Draw(slots, np.ones(len(slots)))


class NewestFirst(Sampler):
    """The rows that came last: for replay alone, as an on-policy learner would see old rows in quiet times."""

    distinct = True

    def draw(self, held: Held, rows: int, rng: np.random.Generator) -> Draw:
        """Returns the newest rows, newest first, each with probability 1."""
        slots = held.newest(rows)
        return Draw(slots, np.ones(len(slots)))


class UniformSampler(Sampler):
    """Any row with the same chance, drawn with replacement."""

    distinct = False

    def draw(self, held: Held, rows: int, rng: np.random.Generator) -> Draw:
        """Returns rows that are independent of each other, each with probability 1 / size."""
        slots = held.slots[rng.integers(0, len(held), rows)]
        return Draw(slots, np.full(rows, 1 / len(held)))


class Prioritized(Sampler):
    """Rows with probability (priority + ε)^α / sum, drawn in strata (Schaul et al., 2016, arXiv:1511.05952).

    The mass of a batch of n is cut into n equal parts, and one row is drawn from each: less variance than
    independent draws, the same expectation.
    """

    distinct = False

    def __init__(self, exponent: float, epsilon: float) -> None:
        """Makes a sampler without rows.

        Args:
          exponent: α: 0 draws uniformly, 1 in proportion to the priorities.
          epsilon: ε, added to each priority, so that a row of priority 0 is still drawn.

        Raises:
          ValueError: ``exponent`` is outside [0, 1], or ``epsilon`` is not a positive number.
        """
        if not 0 <= exponent <= 1:
            raise ValueError(f"prioritized sampling needs an exponent in [0, 1], got {exponent}")
        if not 0 < epsilon < math.inf:
            raise ValueError(f"prioritized sampling needs a positive epsilon, got {epsilon}")
        self._exponent, self._epsilon = exponent, epsilon
        self._tree = SumTree(1)

    def begin(self, capacity_rows: int) -> None:
        """Prepares for the slots 0 … ``capacity_rows`` - 1, all free."""
        self._tree = SumTree(capacity_rows)

    def added(self, slots: NDArray[np.intp], priorities: NDArray[np.float64]) -> None:
        """Notes new rows, or new priorities of rows held, [N]."""
        self._tree.set(slots, (priorities + self._epsilon) ** self._exponent)

    def removed(self, slots: NDArray[np.intp]) -> None:
        """Notes rows that left, [N]."""
        self._tree.set(slots, 0.0)

    def draw(self, held: Held, rows: int, rng: np.random.Generator) -> Draw:
        """Returns rows from equal shares of the mass, each with its probability."""
        mass = self._tree.root
        slots = self._tree.find((np.arange(rows) + rng.random(rows)) * (mass / rows))
        return Draw(slots, self._tree.get(slots) / mass)
