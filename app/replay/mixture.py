"""Which of several inputs the next batch comes from: shares that are exact at all times, not just on average."""

from collections.abc import Sequence
from fractions import Fraction
from math import ceil, floor, isfinite
from typing import Final

import numpy as np

from app.errors import CheckpointError
from app.types import Arrays

LARGEST_RATIO: Final = 1000
"""Of two weights; a starving input has its turns skipped one by one, so many for one of the rarest."""


class Mixture:
    """Deals out turns to inputs by their weights.

    Invariant: after n turns, ``|taken_i + skipped_i - n · share_i| < 1`` for each input i; without skips taken_i alone.

    Whoever reads the inputs says what became of a turn: the input had it, or lost it because it had no batch. A lost
    turn is counted, and the shares of the others hold among themselves.

    Turn t of input i may come no sooner than floor(t / share_i) and no later than at ceil((t + 1) / share_i); of those
    that may come, the one that must come first does (Pfair scheduling; Baruah et al., 1996). Shares are fractions, so
    that nothing is rounded however long it runs.
    """

    def __init__(self, weights: Sequence[float]) -> None:
        """Makes a mixture without any turn.

        Args:
          weights: Of each input, above 0; only their ratios count.

        Raises:
          ValueError: There is no input, a weight is not above 0, or one is too small beside another.
        """
        if not weights or not all(isfinite(weight) and weight > 0 for weight in weights):
            raise ValueError(f"a mixture needs at least one input and finite weights above 0, got {list(weights)}")
        if max(weights) > LARGEST_RATIO * min(weights):
            raise ValueError(f"a mixture allows weights up to {LARGEST_RATIO} times the smallest, got {list(weights)}")
        exact = [Fraction(weight) for weight in weights]
        self._shares = [weight / sum(exact) for weight in exact]
        self._taken = [0] * len(exact)
        self._skipped = [0] * len(exact)

    @property
    def taken(self) -> tuple[int, ...]:
        """Batches that came from each input."""
        return tuple(self._taken)

    @property
    def skipped(self) -> tuple[int, ...]:
        """Turns that each input lost because it had no batch."""
        return tuple(self._skipped)

    def due(self) -> int:
        """Returns whose turn is next."""
        turn = sum(self._taken) + sum(self._skipped)
        had = [taken + skipped for taken, skipped in zip(self._taken, self._skipped, strict=True)]
        may = [at for at, share in enumerate(self._shares) if floor(had[at] / share) <= turn]
        return min(may, key=lambda at: (ceil((had[at] + 1) / self._shares[at]), at))

    def take_turn(self) -> None:
        """Notes that the input whose turn it is has had it."""
        self._taken[self.due()] += 1

    def lose_turn(self) -> None:
        """Notes that the input whose turn it is has nothing, and that the next one's is due."""
        self._skipped[self.due()] += 1

    def state_dict(self) -> Arrays:
        """Returns all that what comes depends on, as arrays of its own."""
        return {"taken": np.array(self._taken, np.int64), "skipped": np.array(self._skipped, np.int64)}

    def load_state_dict(self, state: Arrays) -> None:
        """Goes on where another mixture of the same weights was.

        Raises:
          CheckpointError: It had another number of inputs.
        """
        taken, skipped = state["taken"].tolist(), state["skipped"].tolist()
        if len(taken) != len(self._shares):
            raise CheckpointError(f"the state is of a mixture of {len(taken)} inputs; there are {len(self._shares)}")
        self._taken, self._skipped = taken, skipped
