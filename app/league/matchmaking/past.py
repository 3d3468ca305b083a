"""Opponents chosen by their age alone."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.league.matchmaking.matchmaker import Probabilities, check_candidates
from app.league.payoff import Payoff, PlayerId


@dataclass(frozen=True, slots=True)
class Newest:
    """Naive self-play: always the newest candidate."""

    def probabilities(self, player: PlayerId, candidates: Sequence[PlayerId], payoff: Payoff) -> Probabilities:
        """Returns 1 for the last candidate, [N]."""
        check_candidates(candidates)
        newest = np.zeros(len(candidates))
        newest[-1] = 1.0
        return newest


@dataclass(frozen=True, slots=True)
class UniformWindow:
    """δ-uniform self-play (Bansal et al., 2018), https://arxiv.org/abs/1710.03748: uniform over the newest share.

    δ = 0 takes the whole past (fictitious self-play), δ = 1 the newest alone.
    """

    delta: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.delta <= 1:
            raise ValueError(f"a uniform window needs delta in [0, 1], got {self.delta}")

    def probabilities(self, player: PlayerId, candidates: Sequence[PlayerId], payoff: Payoff) -> Probabilities:
        """Returns equal probabilities for candidates from place ⌊δ·N⌋ on, [N]."""
        check_candidates(candidates)
        first = min(int(self.delta * len(candidates)), len(candidates) - 1)
        allowed = np.arange(len(candidates)) >= first
        shares: Probabilities = np.where(allowed, 1 / np.count_nonzero(allowed), 0.0)
        return shares
