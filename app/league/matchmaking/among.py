"""Matchmakers made of others: among some of the players alone, itself, or several of them by shares."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from app.league.matchmaking.matchmaker import Matchmaker, Probabilities, check_candidates
from app.league.payoff import Payoff, PlayerId


@dataclass(frozen=True, slots=True)
class SelfPlay:
    """The player itself, with its newest weights."""

    def probabilities(self, player: PlayerId, candidates: Sequence[PlayerId], payoff: Payoff) -> Probabilities:
        """Returns 1 for the player, which must be among the candidates, [N]."""
        return spread({player: 1.0}, candidates)


@dataclass(frozen=True, slots=True)
class Among:
    """Another matchmaker, asked about a group of the candidates alone; the player itself where the group is empty."""

    group: Callable[[PlayerId], Sequence[PlayerId]]
    """Returns the group that a player may meet."""
    matchmaker: Matchmaker

    def probabilities(self, player: PlayerId, candidates: Sequence[PlayerId], payoff: Payoff) -> Probabilities:
        """Returns the probability of each candidate, [N]; the player itself must be among them."""
        group = self.group(player)
        if not group:
            return spread({player: 1.0}, candidates)
        inside = self.matchmaker.probabilities(player, group, payoff)
        return spread(dict(zip(group, inside.tolist(), strict=True)), candidates)


@dataclass(frozen=True, slots=True)
class Mixed:
    """Several matchmakers, each of which is asked in its share of the matches."""

    parts: Sequence[tuple[float, Matchmaker]]

    def __post_init__(self) -> None:
        shares = [share for share, _ in self.parts]
        if not shares or min(shares) < 0 or not np.isclose(sum(shares), 1):
            raise ValueError(f"a mixture needs shares that add up to 1, got {shares}")

    def probabilities(self, player: PlayerId, candidates: Sequence[PlayerId], payoff: Payoff) -> Probabilities:
        """Returns the probability of each candidate, [N]."""
        parts = [share * part.probabilities(player, candidates, payoff) for share, part in self.parts if share > 0]
        together: Probabilities = np.sum(parts, axis=0)
        return together


def spread(shares: Mapping[PlayerId, float], candidates: Sequence[PlayerId]) -> Probabilities:
    """Returns shares of some players as probabilities of all candidates, [N].

    Raises:
      ValueError: No candidate has a share, or one who is no candidate has.
    """
    check_candidates(candidates)
    dense = np.array([shares.get(candidate, 0.0) for candidate in candidates])
    total, wanted = float(dense.sum()), sum(shares.values())
    if total <= 0 or not np.isclose(total, wanted):
        raise ValueError(f"those that are to be met are not all candidates: their shares are {total} of {wanted}")
    probabilities: Probabilities = np.divide(dense, total)
    return probabilities
