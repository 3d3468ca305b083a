"""The equilibrium of the frozen players' game, solved beside the league: it may take seconds.

Policy-space response oracles (Lanctot et al., 2017), https://arxiv.org/abs/1711.00832; rectified: Balduzzi et al.
(2019), https://arxiv.org/abs/1901.08106.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from app.league.matchmaking.matchmaker import Probabilities, check_candidates
from app.league.nash import zero_sum_equilibrium
from app.league.payoff import UNKNOWN, Payoff, PlayerId


def solved(payoff: Payoff, players: Sequence[PlayerId]) -> dict[PlayerId, float]:
    """Returns how often each player is played in an equilibrium of the game that they play among themselves.

    Raises:
      ValueError: There are no players.
      SparringError: The solver finds no solution.
    """
    strategy, _ = zero_sum_equilibrium(payoff.matrix(players) - UNKNOWN)
    return dict(zip(players, strategy.tolist(), strict=True))


class Equilibrium:
    """The newest solution; who came after it has no part in it yet."""

    def __init__(self) -> None:
        self._strategy: dict[PlayerId, float] = {}

    @property
    def strategy(self) -> Mapping[PlayerId, float]:
        """How often each player is played; empty before the first solution."""
        return self._strategy

    def take(self, strategy: Mapping[PlayerId, float]) -> None:
        """Replaces the solution."""
        self._strategy = dict(strategy)


@dataclass(frozen=True, slots=True)
class SolvedPsro:
    """Opponents by the newest solution; all alike where none of them has a part in it."""

    equilibrium: Equilibrium
    rectified: bool = False
    """Leaves out opponents that the player loses to, as long as one is left: it grows by what it is good at."""

    def probabilities(self, player: PlayerId, candidates: Sequence[PlayerId], payoff: Payoff) -> Probabilities:
        """Returns the probability of each candidate, [N]."""
        check_candidates(candidates)
        strategy = self.equilibrium.strategy
        shares = np.array([strategy.get(candidate, 0.0) for candidate in candidates])
        if self.rectified:
            kept = shares * (payoff.win_rates(player, candidates) >= UNKNOWN)
            shares = kept if kept.sum() > 0 else shares
        total = float(shares.sum())
        return np.divide(shares, total) if total > 0 else np.full(len(candidates), 1 / len(candidates))
