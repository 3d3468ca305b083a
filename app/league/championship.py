"""Which frozen main player is the champion: a newer one takes its place by evidence alone."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.league.payoff import PlayerId
from app.league.promotion import PromotionTest, Verdict


@dataclass(slots=True)
class Championship:
    """The champion, and the test of its newest challenger.

    A challenger that is still undecided when a newer one comes makes way for it, and is told as ``dropped``.
    """

    test: PromotionTest
    champion: PlayerId | None = None
    challenger: PlayerId | None = None
    wins: float = 0.0
    """What the challenger scored against the champion; a draw is half of each."""
    losses: float = 0.0
    promoted: int = 0
    rejected: int = 0
    dropped: int = 0

    @property
    def pair(self) -> tuple[PlayerId, PlayerId] | None:
        """Challenger and champion, who are to meet; None where nobody challenges."""
        if self.challenger is None or self.champion is None:
            return None
        return self.challenger, self.champion

    def enter(self, player: PlayerId) -> None:
        """Makes a frozen player the challenger; the first one is champion at once."""
        if self.champion is None:
            self.champion = player
            return
        self.dropped += self.challenger is not None
        self.challenger, self.wins, self.losses = player, 0.0, 0.0

    def withdraw(self, player: PlayerId) -> None:
        """Takes out a player who is met no more; a challenger takes the place of a champion who is gone."""
        if player not in {self.champion, self.challenger}:
            return
        if player == self.champion:
            self.champion = self.challenger
        self.challenger, self.wins, self.losses = None, 0.0, 0.0

    def record(self, home: PlayerId, away: PlayerId, score: float) -> None:
        """Takes a result; that of any other pair says nothing."""
        if (away, home) == self.pair:
            score = 1 - score
        elif (home, away) != self.pair:
            return
        self.wins += score
        self.losses += 1 - score
        verdict = self.test.verdict(self.wins, self.losses)
        if verdict is Verdict.UNDECIDED:
            return
        if verdict is Verdict.PROMOTE:
            self.champion = self.challenger
            self.promoted += 1
        else:
            self.rejected += 1
        self.challenger, self.wins, self.losses = None, 0.0, 0.0

    def as_dict(self) -> dict[str, Any]:
        """Returns all but the test as a JSON object."""
        return {name: getattr(self, name) for name in _FIELDS}

    def load(self, told: Mapping[str, Any]) -> None:
        """Takes what ``as_dict`` returned."""
        for name in _FIELDS:
            setattr(self, name, told[name])


_FIELDS = ("champion", "challenger", "wins", "losses", "promoted", "rejected", "dropped")
