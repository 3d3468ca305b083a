"""Who beats whom: results of matches between two players, with the newest counting most."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

PlayerId = str

UNKNOWN: Final = 0.5
"""Win rate of a pair that has not met."""
FIRST_CAPACITY: Final = 16


class Payoff:
    """Win rates of all pairs; a draw is half a win for each side.

    Each result of a pair makes its older ones count ``decay`` times as much, so that a pair's rate follows players who
    learn. The prior stands for ``prior_games`` draws, which the results outweigh in time.
    """

    def __init__(self, decay: float = 1.0, prior_games: float = 0.0) -> None:
        """Makes a payoff without players.

        Raises:
          ValueError: The decay lies outside (0, 1], or the prior is negative.
        """
        if not 0 < decay <= 1 or prior_games < 0:
            raise ValueError(f"payoff needs decay in (0, 1] and prior_games >= 0, got {decay} and {prior_games}")
        self._decay, self._prior = decay, prior_games
        self._places: dict[PlayerId, int] = {}
        self._wins = np.zeros((FIRST_CAPACITY, FIRST_CAPACITY))
        """Decayed wins of the row's player over the column's."""
        self._games = np.zeros((FIRST_CAPACITY, FIRST_CAPACITY), np.int64)

    @property
    def players(self) -> tuple[PlayerId, ...]:
        """All players, in the order in which they came."""
        return tuple(self._places)

    def add(self, player: PlayerId) -> None:
        """Adds a player who has met nobody.

        Raises:
          ValueError: It is there already.
        """
        if player in self._places:
            raise ValueError(f"player {player!r} is in the payoff already")
        place = self._places[player] = len(self._places)
        if place == len(self._wins):
            self._wins = np.pad(self._wins, (0, place))
            self._games = np.pad(self._games, (0, place))

    def record(self, home: PlayerId, away: PlayerId, score: float) -> None:
        """Counts a match.

        Args:
          home: One side.
          away: The other side.
          score: 1 where ``home`` won, 0 where it lost, 0.5 for a draw.

        Raises:
          KeyError: A player is unknown.
          ValueError: The score lies outside [0, 1], or a player met itself.
        """
        a, b = self._places[home], self._places[away]
        if not 0 <= score <= 1 or a == b:
            raise ValueError(f"a match needs a score in [0, 1] and two players, got {score}, {home!r} and {away!r}")
        self._wins[a, b] = self._decay * self._wins[a, b] + score
        self._wins[b, a] = self._decay * self._wins[b, a] + 1 - score
        self._games[a, b] += 1
        self._games[b, a] += 1

    def games(self, home: PlayerId, away: PlayerId) -> int:
        """Returns how many matches the pair has played."""
        return int(self._games[self._places[home], self._places[away]])

    def win_rate(self, home: PlayerId, away: PlayerId) -> float:
        """Returns how often ``home`` beats ``away``, in [0, 1]; 0.5 where they have not met."""
        return float(self.win_rates(home, [away])[0])

    def win_rates(self, player: PlayerId, opponents: Sequence[PlayerId]) -> NDArray[np.float64]:
        """Returns how often a player beats each opponent, [N].

        Raises:
          KeyError: A player is unknown.
        """
        row, columns = self._places[player], [self._places[opponent] for opponent in opponents]
        return self._rates(self._wins[row, columns], self._wins[columns, row])

    def matrix(self, players: Sequence[PlayerId]) -> NDArray[np.float64]:
        """Returns the win rate of each row's player over each column's, [N, N]; 0.5 on the diagonal."""
        places = [self._places[player] for player in players]
        wins = self._wins[np.ix_(places, places)]
        return self._rates(wins, wins.T)

    def _rates(self, wins: NDArray[np.float64], losses: NDArray[np.float64]) -> NDArray[np.float64]:
        total = wins + losses + self._prior
        return np.divide(wins + UNKNOWN * self._prior, total, out=np.full_like(total, UNKNOWN), where=total > 0)
