"""Populations that grow by exact best responses to what a matchmaker draws: what a league does, without learning."""

from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from app.league.matchmaking.equilibrium import Equilibrium, SolvedPsro, solved
from app.league.matchmaking.matchmaker import Matchmaker, Probabilities
from app.league.payoff import Payoff, PlayerId

P = TypeVar("P")


class ExactGame(Protocol[P]):
    """A symmetric zero-sum game that can be solved exactly."""

    def first(self) -> P:
        """Returns the player to begin with."""

    def mixed(self, players: Sequence[P], weights: NDArray[np.float64]) -> P:
        """Returns who plays like one of the players, drawn with the weights."""

    def best_response(self, player: P) -> P:
        """Returns who wins most from a player."""

    def scores(self, player: P, others: Sequence[P]) -> NDArray[np.float64]:
        """Returns the expected scores of matches, in [0, 1], [N]."""

    def exploitability(self, player: P) -> float:
        """Returns how far from an equilibrium a player is; 0 in one."""


class SolvedBeside:
    """Draws from the newest solution as the league's service does, which solves again only now and then."""

    def __init__(self, every: int) -> None:
        """Begins without a solution.

        Args:
          every: Players that come between two solutions.
        """
        self._every = every
        self._equilibrium = Equilibrium()
        self._drawn = SolvedPsro(self._equilibrium)

    def probabilities(self, player: PlayerId, candidates: Sequence[PlayerId], payoff: Payoff) -> Probabilities:
        """Returns the probability of each candidate, [N]."""
        if len(candidates) % self._every == 0:
            self._equilibrium.take(solved(payoff, candidates))
        return self._drawn.probabilities(player, candidates, payoff)


class Population(Generic[P]):
    """Players, each the best response to the matchmaker's draw when it came; ``Payoff`` holds their exact scores."""

    def __init__(self, game: ExactGame[P], matchmaker: Matchmaker) -> None:
        self._game, self._matchmaker = game, matchmaker
        self.players: list[P] = []
        self._payoff = Payoff()
        self._add(game.first())

    def grow(self, responses: int) -> None:
        """Adds so many players, one after another."""
        for _ in range(responses):
            self._add(self._game.best_response(self.drawn()))

    def drawn(self) -> P:
        """Returns the mixture that the newest player would meet."""
        names = self._payoff.players
        return self._game.mixed(self.players, self._matchmaker.probabilities(names[-1], names, self._payoff))

    def average(self) -> P:
        """Returns who plays like one of all players, drawn evenly."""
        return self._game.mixed(self.players, np.full(len(self.players), 1 / len(self.players)))

    def worst_score_of_newest(self) -> float:
        """Returns what the newest player scores against the one that is hardest for it."""
        names = self._payoff.players
        return float(self._payoff.win_rates(names[-1], names).min())

    def _add(self, player: P) -> None:
        name = f"p{len(self.players)}"
        self._payoff.add(name)
        if self.players:
            for at, score in enumerate(self._game.scores(player, self.players)):
                self._payoff.record(name, f"p{at}", float(score))
        self.players.append(player)
