"""Policy-space response oracles (Lanctot et al., 2017), https://arxiv.org/abs/1711.00832, and their rectified variant.

Rectified: Balduzzi et al. (2019), https://arxiv.org/abs/1901.08106.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from app.league.matchmaking.matchmaker import Probabilities, check_candidates
from app.league.nash import zero_sum_equilibrium
from app.league.payoff import UNKNOWN, Payoff, PlayerId


@dataclass(frozen=True, slots=True)
class Psro:
    """Opponents by the equilibrium of the game that the candidates play among themselves."""

    rectified: bool = False
    """Leaves out opponents that the player loses to, as long as one is left: it grows by what it is good at."""

    def probabilities(self, player: PlayerId, candidates: Sequence[PlayerId], payoff: Payoff) -> Probabilities:
        """Returns the equilibrium's probability of each candidate, [N]."""
        check_candidates(candidates)
        strategy, _ = zero_sum_equilibrium(payoff.matrix(candidates) - UNKNOWN)
        if self.rectified:
            kept = strategy * (payoff.win_rates(player, candidates) >= UNKNOWN)
            if kept.sum() > 0:
                strategy = kept / kept.sum()
        return strategy
