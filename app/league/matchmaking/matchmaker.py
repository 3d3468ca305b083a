"""How an opponent is chosen; every matchmaker is a distribution over the candidates."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from app.league.payoff import Payoff, PlayerId

Probabilities = NDArray[np.float64]


class Matchmaker(Protocol):
    """Says how probable each opponent is."""

    def probabilities(self, player: PlayerId, candidates: Sequence[PlayerId], payoff: Payoff) -> Probabilities:
        """Returns the probability of each candidate, [N], oldest candidate first.

        Raises:
          ValueError: There is no candidate.
        """


def choose(
    matchmaker: Matchmaker, player: PlayerId, candidates: Sequence[PlayerId], payoff: Payoff, rng: np.random.Generator
) -> PlayerId:
    """Returns an opponent; the player itself where there is no candidate, so that a first player can begin."""
    if not candidates:
        return player
    return candidates[int(rng.choice(len(candidates), p=matchmaker.probabilities(player, candidates, payoff)))]


def check_candidates(candidates: Sequence[PlayerId]) -> None:
    """Does nothing where somebody can be chosen.

    Raises:
      ValueError: There is nobody.
    """
    if not candidates:
        raise ValueError("a matchmaker needs at least one candidate, got none")
