"""Matchmakers made of others: among some of the players alone, itself, or several of them by shares."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.league.matchmaking.matchmaker import Matchmaker, Probabilities, check_candidates
from app.league.payoff import Payoff, PlayerId

GROUPS_KEPT: Final = 64
"""Groups of players whose places among the candidates are kept."""


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
        shares = Shares(candidates)
        shares.add(1.0, group, self.matchmaker.probabilities(player, group, payoff))
        return shares.probabilities()


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


class Shares:
    """Shares of the matches, gathered part by part, as probabilities of all candidates."""

    def __init__(self, candidates: Sequence[PlayerId]) -> None:
        """Begins without any share.

        Raises:
          ValueError: There is no candidate.
        """
        check_candidates(candidates)
        self._candidates = tuple(candidates)
        self._shares = np.zeros(len(candidates))
        self._wanted = 0.0

    def add(self, share: float, players: Sequence[PlayerId], probabilities: Probabilities) -> None:
        """Gives players a share together, each its part of it, [N]; nothing to those who are no candidates."""
        self._wanted += share * float(probabilities.sum())
        places = _places(tuple(players), self._candidates)
        if places is not None:  # Else told when all is gathered.
            self._shares[places] += share * probabilities

    def add_one(self, share: float, player: PlayerId) -> None:
        """Gives one player a share."""
        self.add(share, (player,), np.ones(1))

    def probabilities(self) -> Probabilities:
        """Returns the probability of each candidate, [N].

        Raises:
          ValueError: No candidate has a share, or one who is no candidate has.
        """
        total = float(self._shares.sum())
        if total <= 0 or not math.isclose(total, self._wanted, rel_tol=1e-6):
            raise ValueError(
                f"those that are to be met are not all candidates: their shares are {total} of {self._wanted}"
            )
        return np.divide(self._shares, total)


def spread(shares: Mapping[PlayerId, float], candidates: Sequence[PlayerId]) -> Probabilities:
    """Returns shares of some players as probabilities of all candidates, [N].

    Raises:
      ValueError: There is no candidate, none has a share, or one who is no candidate has.
    """
    gathered = Shares(candidates)
    for player, share in shares.items():
        gathered.add_one(share, player)
    return gathered.probabilities()


@lru_cache(maxsize=GROUPS_KEPT)
def _places(players: tuple[PlayerId, ...], candidates: tuple[PlayerId, ...]) -> NDArray[np.intp] | None:
    """Returns where players stand among the candidates; None where one is none of them. Groups are asked for again."""
    of_candidate = {candidate: place for place, candidate in enumerate(candidates)}
    try:
        return np.fromiter(map(of_candidate.__getitem__, players), np.intp, len(players))
    except KeyError:
        return None
