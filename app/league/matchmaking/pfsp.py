"""Prioritized fictitious self-play (Vinyals et al., 2019), https://doi.org/10.1038/s41586-019-1724-z."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from app.league.matchmaking.matchmaker import Probabilities, check_candidates
from app.league.payoff import Payoff, PlayerId

Rates = NDArray[np.float64]
Weighting = Literal["variance", "variance_floored", "squared", "linear", "linear_capped"]
FLOOR: Final = 0.1
"""Win rate below which ``variance_floored`` takes opponents for equally hard."""

WEIGHTINGS: Final[Mapping[Weighting, Callable[[Rates, Rates], Rates]]] = {
    "variance": lambda win_rates, loss_rates: win_rates * loss_rates,
    "variance_floored": lambda win_rates, _: np.maximum(win_rates, FLOOR) * (1 - np.maximum(win_rates, FLOOR)),
    "squared": lambda _, loss_rates: loss_rates**2,
    "linear": lambda _, loss_rates: loss_rates,
    "linear_capped": lambda _, loss_rates: np.minimum(loss_rates, 0.5),
}


def pfsp(win_rates: NDArray[np.float64], weighting: Weighting = "squared") -> Probabilities:
    """Returns the probability of meeting each opponent, [N].

    Args:
      win_rates: Chance of beating each opponent, in [0, 1], [N]; 0.5 where unknown.
      weighting: ``variance`` prefers equals by p(1 - p), and so does ``variance_floored``, which never leaves
        out those that beat it: p is at least 0.1 there; ``squared``, (1 - p)², and ``linear``, 1 - p, the hard ones;
        ``linear_capped``, min(1 - p, 0.5), all those that beat it alike.

    Raises:
      ValueError: There is no opponent, or a rate lies outside [0, 1].
    """
    if win_rates.size == 0 or not np.all((win_rates >= 0) & (win_rates <= 1)):
        raise ValueError(f"pfsp needs win rates in [0, 1], got {win_rates}")
    loss_rates = 1 - win_rates
    weights = WEIGHTINGS[weighting](win_rates, loss_rates)
    total = float(weights.sum())
    if total == 0:  # Everyone is beaten for certain: nothing left to prefer.
        return np.full(win_rates.size, 1 / win_rates.size)
    return np.divide(weights, total)


@dataclass(frozen=True, slots=True)
class Pfsp:
    """Opponents by how hard they are for the player."""

    weighting: Weighting = "squared"

    def probabilities(self, player: PlayerId, candidates: Sequence[PlayerId], payoff: Payoff) -> Probabilities:
        """Returns the probability of each candidate, [N]."""
        check_candidates(candidates)
        return pfsp(payoff.win_rates(player, candidates), self.weighting)
