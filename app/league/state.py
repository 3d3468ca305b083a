"""All that a league knows, and how each event changes it."""

from collections import Counter, deque
from dataclasses import dataclass, field
from itertools import combinations
from typing import Final, NamedTuple

from app.league.championship import Championship
from app.league.elo_ratings import EloRatings
from app.league.events import Began, Closed, Event, Froze, How, Joined, Left, Opened, Turned
from app.league.matches import Entry, OpenMatch, OpenMatches, pair_score
from app.league.payoff import Payoff, PlayerId
from app.league.players import FrozenPlayer, LearningPlayer, Player, Role, frozen_id
from app.league.ratings import Moves, Placed, Ratings
from app.league.roster import Roster
from app.league.settings import LeagueSettings, RatingSystem

RECENT: Final = 1_000
"""Finished matches that are kept in memory; all of them are in the journal."""
EXPIRED_KEPT: Final = 10_000
"""Newest given-up matches that are told from finished ones."""


@dataclass(slots=True)
class Tally:
    """Results of a player, over all its pairs."""

    wins: int = 0
    draws: int = 0
    losses: int = 0

    def add(self, score: float) -> None:
        """Counts a score: 1, 0.5 or 0."""
        self.wins += score == 1
        self.draws += score == 0.5  # noqa: PLR2004  # Half a win.
        self.losses += score == 0

    @property
    def games(self) -> int:
        """Returns how many there were."""
        return self.wins + self.draws + self.losses


class Played(NamedTuple):
    """A finished match."""

    number: int
    ended_s: float
    entries: tuple[Entry, ...]
    scores: tuple[float, ...]


@dataclass(slots=True)
class LeagueState:
    """A league at one moment; ``apply`` alone changes it."""

    payoff: Payoff
    ratings: Ratings
    championship: Championship
    fix_frozen_ratings: bool = False
    token: str = ""
    next_number: int = 1
    roster: Roster = field(default_factory=Roster)
    matches: OpenMatches = field(default_factory=OpenMatches)
    tallies: dict[PlayerId, Tally] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    turns: dict[str, PlayerId] = field(default_factory=dict)
    """Player that each trainer is at."""
    recent: deque[Played] = field(default_factory=lambda: deque(maxlen=RECENT))
    expired: dict[int, None] = field(default_factory=dict)
    """Numbers of given-up matches, oldest first."""

    def apply(self, event: Event) -> None:
        """Makes a change.

        Raises:
          LeagueError: It does not fit what was before.
        """
        match event:
            case Opened():
                self._open(event)
            case Closed():
                self._close(event)
            case Froze(frozen, learning, anew):
                self._add_frozen(frozen)
                self._change(learning, anew=anew)
            case Turned(trainer, leaving, entering):
                self._change(leaving)
                self._change(entering)
                self.turns[trainer] = entering.id
            case Joined(player, anew):
                self._join(player, anew=anew)
            case Left(player):
                self._leave(player)
            case Began(token):
                self.token = token

    def adopt(self, settings: LeagueSettings) -> None:
        """Takes what changed settings say of how results count; results stay."""
        fresh = new_state(settings)
        self.payoff.adopt(fresh.payoff)
        self.championship.test = fresh.championship.test
        self.fix_frozen_ratings = fresh.fix_frozen_ratings

    def credited(self, entry: Entry) -> PlayerId | None:
        """Returns whom a result counts for: what the player was when the match began; None where that one is gone."""
        learning = self.roster.learning.get(entry.player)
        if entry.player in self.roster.frozen or (learning is not None and learning.period == entry.period):
            return entry.player
        was = frozen_id(entry.player, entry.period)
        return was if was in self.roster else None

    def _open(self, event: Opened) -> None:
        self.matches.add(event.number, OpenMatch(event.entries, event.purpose, event.at_s))
        self.next_number = event.number + 1
        self.counts["matches_opened"] += 1

    def _join(self, player: Player, *, anew: bool) -> None:
        if isinstance(player, FrozenPlayer):
            self._add_frozen(player)
        else:
            self._change(player, anew=anew)

    def _close(self, event: Closed) -> None:
        match = self.matches.close(event.number)
        self.counts[f"matches_{event.how}"] += 1
        if event.how is How.EXPIRED:
            self.expired[event.number] = None
            if len(self.expired) > EXPIRED_KEPT:
                del self.expired[next(iter(self.expired))]
        elif event.how is How.FINISHED:
            self._count(match, event.scores)
            self.recent.append(Played(event.number, event.at_s, match.entries, event.scores))

    def _count(self, match: OpenMatch, scores: tuple[float, ...]) -> None:
        placed = []
        for entry, score in zip(match.entries, scores, strict=True):
            player = self.credited(entry)
            if player is not None:
                placed.append(Placed(player, score))
                self.counts["results_of_a_past_period"] += player != entry.player
        for home, away in combinations(placed, 2):
            if home.player != away.player:
                self._count_pair(home.player, away.player, pair_score(home.score, away.score))
        self.ratings.record(placed)

    def _count_pair(self, home: PlayerId, away: PlayerId, score: float) -> None:
        self.payoff.record(home, away, score)
        self.tallies[home].add(score)
        self.tallies[away].add(1 - score)
        self.championship.record(home, away, score)
        self.counts["pairs_counted"] += 1

    def _add_frozen(self, player: FrozenPlayer) -> None:
        back = player.id in self.roster.away
        self.roster.put(player)
        if back:  # With all that is known of it.
            return
        self._enter(player.id)
        parent = player.learner if player.learner in self.roster.learning else None
        start = None if parent is None else self.ratings.rating(parent)
        if player.rating is not None:
            self.ratings.add_fixed(player.id, player.rating)
        else:
            self.ratings.add(player.id, Moves.FIXED if self.fix_frozen_ratings else Moves.FROZEN, start)
        if player.role is Role.MAIN:
            self.championship.enter(player.id)

    def _change(self, player: LearningPlayer, *, anew: bool = False) -> None:
        before = self.roster.learning.get(player.id)
        new = before is None
        self.roster.put(player)
        if before is not None and before.trainer != player.trainer:
            self._leave_trainer(before)
        self.turns.setdefault(player.trainer, player.id)
        if new and player.id in self.tallies:  # One of that name was here before.
            self._forget(player.id)
        elif new:
            self._enter(player.id)
        elif anew:
            self._forget(player.id)
        if new or anew:
            copied = None if player.parent is None else self.ratings.rating(player.parent)
            self.ratings.add(player.id, Moves.LEARNS, copied)

    def _enter(self, player: PlayerId) -> None:
        self.payoff.add(player)
        self.tallies[player] = Tally()

    def _forget(self, player: PlayerId) -> None:
        self.payoff.forget(player)
        self.tallies[player] = Tally()

    def _leave(self, player: PlayerId) -> None:
        learning = self.roster.learning.get(player)
        self.roster.retire(player)
        self.championship.withdraw(player)
        if learning is not None:
            self._leave_trainer(learning)

    def _leave_trainer(self, player: LearningPlayer) -> None:
        """Gives the turn of a trainer on if a player had it that is no longer its."""
        if self.turns.get(player.trainer) == player.id:
            others = [p.id for p in self.roster.learning.values() if p.trainer == player.trainer]
            if others:
                self.turns[player.trainer] = others[0]
            else:
                del self.turns[player.trainer]


def new_state(settings: LeagueSettings) -> LeagueState:
    """Returns the state of a league that has not begun."""
    payoff = Payoff(settings.decay, settings.prior_games, settings.min_games)
    championship = Championship(settings.promotion)
    return LeagueState(payoff, make_ratings(settings.rating), championship, settings.fix_frozen_ratings)


def make_ratings(system: RatingSystem) -> Ratings:
    """Returns a rating system without players."""
    if system == "elo":
        return EloRatings()
    from app.league.openskill_ratings import OpenSkillRatings  # noqa: PLC0415  # Scipy, a fifth of a second.

    return OpenSkillRatings()
