"""Who beats whom: results of matches between two players, with the newest counting most."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

PlayerId = str

UNKNOWN: Final = 0.5
"""Win rate of a pair that has not met."""
FIRST_CAPACITY: Final = 16
GROUPS_KEPT: Final = 256
"""Groups of players whose places are kept."""


@dataclass(frozen=True, slots=True)
class PayoffState:
    """All that a payoff holds, as a copy that nothing changes any more."""

    players: tuple[PlayerId, ...]
    wins: NDArray[np.float64]
    """Decayed wins of the row's player over the column's, [N, N]."""
    games: NDArray[np.uint32]
    """Matches of each pair, [N, N]."""


class Payoff:
    """Win rates of all pairs; a draw is half a win for each side.

    Each result of a pair makes its older ones count ``decay`` times as much, so that a pair's rate follows players who
    learn. The prior stands for ``prior_games`` draws, which the results outweigh in time. Until a pair has played
    ``min_games`` its rate is not trusted, and counts as unknown.
    """

    def __init__(self, decay: float = 1.0, prior_games: float = 0.0, min_games: int = 0) -> None:
        """Makes a payoff without players.

        Raises:
          ValueError: The decay lies outside (0, 1], the prior or the least number of games is negative.
        """
        if not 0 < decay <= 1 or prior_games < 0 or min_games < 0:
            raise ValueError(
                f"payoff needs decay in (0, 1], prior_games >= 0 and min_games >= 0, got {decay}, {prior_games} and "
                f"{min_games}"
            )
        self._decay, self._prior, self._min_games = decay, prior_games, min_games
        self._places: dict[PlayerId, int] = {}
        self._groups: dict[int, tuple[Sequence[PlayerId], NDArray[np.intp]]] = {}
        """Places of groups, by the identity of their tuple, which stays as long as it is in here."""
        self._wins = np.zeros((FIRST_CAPACITY, FIRST_CAPACITY))
        self._games = np.zeros((FIRST_CAPACITY, FIRST_CAPACITY), np.uint32)

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

    def forget(self, player: PlayerId) -> None:
        """Makes a player one who has met nobody: its weights are others now.

        Raises:
          KeyError: The player is unknown.
        """
        place = self._places[player]
        for matrix in (self._wins, self._games):
            matrix[place, :] = 0
            matrix[:, place] = 0

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
        row, columns = self._places[player], self._columns(opponents)
        return self._rates(self._wins[row, columns], self._wins[columns, row], self._games[row, columns])

    def games_with(self, player: PlayerId, opponents: Sequence[PlayerId]) -> NDArray[np.uint32]:
        """Returns how many matches a player has played against each opponent, [N].

        Raises:
          KeyError: A player is unknown.
        """
        games: NDArray[np.uint32] = self._games[self._places[player], self._columns(opponents)]
        return games

    def games_matrix(self, players: Sequence[PlayerId]) -> NDArray[np.uint32]:
        """Returns how many matches the row's player has played against the column's, [N, N]."""
        places = self._columns(players)
        games: NDArray[np.uint32] = self._games[np.ix_(places, places)]
        return games

    def matrix(self, players: Sequence[PlayerId]) -> NDArray[np.float64]:
        """Returns the win rate of each row's player over each column's, [N, N]; 0.5 on the diagonal."""
        places = self._columns(players)
        wins, games = self._wins[np.ix_(places, places)], self._games[np.ix_(places, places)]
        return self._rates(wins, wins.T, games)

    def state(self) -> PayoffState:
        """Returns a copy of all that it holds."""
        count = len(self._places)
        return PayoffState(self.players, self._wins[:count, :count].copy(), self._games[:count, :count].copy())

    def load(self, state: PayoffState) -> None:
        """Replaces all that it holds."""
        count = len(state.players)
        capacity = max(FIRST_CAPACITY, count)
        self._places = {player: place for place, player in enumerate(state.players)}
        self._groups.clear()
        self._wins, self._games = np.zeros((capacity, capacity)), np.zeros((capacity, capacity), np.uint32)
        self._wins[:count, :count], self._games[:count, :count] = state.wins, state.games

    def adopt(self, other: "Payoff") -> None:
        """Takes another payoff's settings; results stay."""
        self._decay, self._prior, self._min_games = other._decay, other._prior, other._min_games

    def at(self, state: PayoffState) -> "Payoff":
        """Returns a payoff with the same settings that holds a state, for a computation in another thread."""
        other = Payoff(self._decay, self._prior, self._min_games)
        other.load(state)
        return other

    def _columns(self, players: Sequence[PlayerId]) -> NDArray[np.intp]:
        """Returns the places of players; those of a tuple are kept, since groups of players are asked for again."""
        known = self._groups.get(id(players))
        if known is not None and known[0] is players:
            return known[1]
        columns = np.fromiter(map(self._places.__getitem__, players), np.intp, len(players))
        if isinstance(players, tuple):
            if len(self._groups) >= GROUPS_KEPT:
                self._groups.clear()
            self._groups[id(players)] = (players, columns)
        return columns

    def _rates(
        self, wins: NDArray[np.float64], losses: NDArray[np.float64], games: NDArray[np.uint32]
    ) -> NDArray[np.float64]:
        total = wins + losses + self._prior
        trusted = (total > 0) & (games >= self._min_games)
        return np.divide(wins + UNKNOWN * self._prior, total, out=np.full_like(total, UNKNOWN), where=trusted)
