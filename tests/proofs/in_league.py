"""A league in this process: a main player learns against its frozen ancestors, which a matchmaker draws."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from app.league.elo import Elo
from app.league.matchmaking.matchmaker import Matchmaker, choose
from app.league.payoff import Payoff, PlayerId
from app.league.promotion import PromotionTest, Verdict
from app.seeding import derive

from .duels import Duels, MakeGame, Opponent, Result
from .players import Network, Player
from .trainee import Trainee

MAIN: PlayerId = "main"
DECAY = 0.98
"""Of results: the newest fifty count most, since the main player learns."""


@dataclass(frozen=True, slots=True)
class Frozen:
    """A copy of the main player, which stays as it was."""

    name: PlayerId
    network: Network
    content_hash: str
    """When it was frozen."""
    rating: float
    """When it was frozen."""


class League:
    """One main player and its ancestors; ``Payoff``, the matchmaker and ``Elo`` are the product's."""

    def __init__(
        self,
        trainee: Trainee,
        make_env: MakeGame,
        matchmaker: Matchmaker,
        seed: int,
        games: int = 64,
        exploit: Callable[[Network], Player] | None = None,
    ) -> None:
        """Freezes the untrained player, whom the first games are played against.

        Args:
          trainee: The main player.
          make_env: Makes one game.
          matchmaker: Draws opponents.
          seed: Of games, actions and opponents.
          games: How many are played side by side.
          exploit: Makes an opponent that exploits the main player, at each freeze; None makes none.
        """
        self._trainee, self._matchmaker, self._exploit = trainee, matchmaker, exploit
        self._rng = np.random.default_rng(derive(seed, "matches"))
        self.payoff, self._elo = Payoff(DECAY), Elo()
        self.payoff.add(MAIN)
        self.main = Network(trainee.module)
        trainee.module.train()
        self.frozen: list[Frozen] = []
        self._opponents: dict[PlayerId, Player] = {}
        self.ratings: dict[PlayerId, float] = {MAIN: 0.0}
        self.freeze()
        self._duels = Duels(make_env, games, self.main, self._draw, derive(seed, "games") % 2**31)

    @property
    def steps(self) -> int:
        """Returns how often the main player has acted."""
        return self._duels.steps

    def play(self, steps: int) -> None:
        """Plays and learns so many steps of the main player."""
        until = self._duels.steps + steps
        while self._duels.steps < until:
            rows = self._duels.play(8)
            if rows is not None:
                self._trainee.learn(rows)
                self._duels.version = self._trainee.version
            for result in self._duels.results:
                self._count(result)
            self._duels.results.clear()

    def better_than_newest(self, test: PromotionTest) -> bool:
        """Returns whether the matches since the newest copy was made, or since a rejection, tell it from the player."""
        verdict = test.verdict(self._score, self._matches - self._score)
        if verdict is Verdict.REJECT:
            self._score, self._matches = 0.0, 0
        return verdict is Verdict.PROMOTE

    def freeze(self) -> None:
        """Adds a copy of the main player to its opponents, an anchor with the rating of now."""
        name = f"{MAIN}:{len(self.frozen)}"
        copy = self.main.frozen()
        self.frozen.append(Frozen(name, copy, copy.content_hash(), self.ratings[MAIN]))
        self._add(name, copy)
        if self._exploit is not None:
            self._add(f"exploiter:{name}", self._exploit(copy))
        self._score, self._matches = 0.0, 0

    def _add(self, name: PlayerId, player: Player) -> None:
        self._opponents[name] = player
        self.payoff.add(name)
        self.ratings[name] = self.ratings[MAIN]

    def _count(self, result: Result) -> None:
        self.payoff.record(MAIN, result.opponent, result.score)
        mine, theirs = self.ratings[MAIN], self.ratings[result.opponent]
        self.ratings[MAIN], self.ratings[result.opponent] = self._elo.updated(
            mine, theirs, result.score, away_fixed=True
        )
        if result.opponent == self.frozen[-1].name:
            self._score, self._matches = self._score + result.score, self._matches + 1

    def _draw(self) -> Opponent:
        chosen = choose(self._matchmaker, MAIN, list(self._opponents), self.payoff, self._rng)
        return Opponent(chosen, self._opponents[chosen])
