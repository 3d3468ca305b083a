"""A league: who plays whom, what results mean, and how players go on. No I/O, clock or Ray.

Each change is an event, which is handed to ``record`` before the call that makes it returns. The same events, applied
in the same order to a state, make the same league: that is how it is restored.
"""

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from app.errors import LeagueError
from app.league.events import Began, Closed, Event, How, Opened
from app.league.joining import changed_supplies, joining
from app.league.matches import Entry, Match, MatchId, Reply, Result, Side, match_id, match_number
from app.league.matchmaking.equilibrium import Equilibrium
from app.league.matchmaking.matchmaker import Matchmaker, Probabilities
from app.league.matchmaking.rated import LeastKnown
from app.league.payoff import PlayerId
from app.league.periods import Due, Freeze, Periods
from app.league.players import FrozenPlayer, LearningPlayer, Weights
from app.league.settings import LeagueSettings, Parts, by_role
from app.league.state import LeagueState, new_state
from app.seeding import Draws, derive
from app.types import Purpose

DUEL: Final = (1, 1)
"""Seats of a match of one against one."""


class League:
    """Decides; its ``state`` is what was decided."""

    def __init__(
        self,
        settings: LeagueSettings,
        record: Callable[[Event], None] = lambda _: None,
        state: LeagueState | None = None,
    ) -> None:
        """Makes a league that goes on from a state; None: from nothing.

        Args:
          settings: How it goes about it.
          record: Takes each event, before the call that makes it returns.
          state: What came of earlier events.
        """
        self.settings = settings
        self.state = new_state(settings) if state is None else state
        self.equilibrium = Equilibrium()
        self._record = record
        self._matchmakers: dict[PlayerId, Matchmaker] = {}
        self._periods = Periods(settings, self.state, self._do)

    def begin(self, token: str, now_s: float) -> tuple[PlayerId, ...]:
        """Makes the players those of the settings, with all that is known of them; see ``joining``.

        Args:
          token: Begins the ids of matches; one that the league has already is kept.
          now_s: The present, in Unix seconds.

        Returns:
          Supplied players whom the settings describe otherwise than before, and who stay what they were.
        """
        if not self.state.token:
            self._do(Began(token))
        for event in joining(self.state.roster, self.settings, now_s):
            self._do(event)
        return tuple(changed_supplies(self.state.roster, self.settings))

    # Matches.

    def next_match(self, player: PlayerId, now_s: float, seats: Sequence[int] = DUEL, own: int = 0) -> Match:
        """Returns a match for a learning player, whose opponents its matchmaker has drawn.

        Args:
          player: Who is to learn from it.
          now_s: The present, in Unix seconds.
          seats: Agents of each side; each side is one player.
          own: Place of the player's side.

        Raises:
          LeagueError: The player does not learn here, or the sides are none.
        """
        self.state.roster.learner(player)
        _check_seats(seats, own)
        self.expire(now_s)
        draws = self._draws()
        chances = self.chances(player)
        ids = self.state.roster.ids
        players = [player if place == own else ids[_drawn(chances, draws)] for place in range(len(seats))]
        return self._open(players, seats, now_s, Purpose.TRAIN, learner=player)

    def next_evaluation(self, now_s: float, seats: Sequence[int] = DUEL, pool: str | None = None) -> Match:
        """Returns a match of frozen players from which nobody learns, where its result says most.

        A challenger meets the champion until their test is decided. Otherwise the one with the most uncertain rating
        meets opponents with p(1 - p) / (n + 1), see ``LeastKnown``. Who sits where is drawn.

        Args:
          now_s: The present, in Unix seconds.
          seats: Agents of each side.
          pool: Fixed pool whose players meet; None: all that are frozen.

        Raises:
          LeagueError: There are not two players who could meet, there is no such pool, or the sides are none.
        """
        _check_seats(seats, 0)
        self.expire(now_s)
        draws = self._draws()
        pair = self.state.championship.pair
        if pool is None and pair is not None and len(seats) == len(DUEL):
            players = list(pair)
        else:
            players = self._least_known(self.state.roster.frozen_ids if pool is None else self.pool(pool), seats, draws)
        first = draws.randrange(len(players))
        return self._open(players[first:] + players[:first], seats, now_s, Purpose.EVALUATE, learner=None)

    def chances(self, player: PlayerId) -> Probabilities:
        """Returns how probable each player of ``state.roster.ids`` is as the next opponent, [N].

        Raises:
          LeagueError: The player does not learn here.
        """
        self.state.roster.learner(player)
        return self._matchmaker(player).probabilities(player, self.state.roster.ids, self.state.payoff)

    def report(self, match: MatchId, result: Result, now_s: float) -> Reply:
        """Counts the result of a match, once, and returns what became of it.

        Raises:
          LeagueError: The result has no score for each side; the match stays open.
        """
        number = match_number(self.state.token, match)
        if number is None or not 0 < number < self.state.next_number:
            return self._uncounted(Reply.UNKNOWN)
        self.expire(now_s)
        if number in self.state.expired:
            return self._uncounted(Reply.LATE)
        if number not in self.state.matches:
            return self._uncounted(Reply.DUPLICATE)
        if result.aborted:
            self._do(Closed(number, now_s, How.ABORTED))
            return Reply.ABORTED
        sides = len(self.state.matches.get(number).entries)
        if len(result.scores) != sides or not np.isfinite(result.scores).all():
            raise LeagueError(
                f"match {match} has {sides} sides; allowed are as many finite scores, got {result.scores}"
            )
        self._do(Closed(number, now_s, How.FINISHED, tuple(result.scores)))
        return Reply.COUNTED

    def expire(self, now_s: float) -> int:
        """Gives matches up that take too long, and returns how many."""
        overdue = self.state.matches.overdue(now_s, self.settings.match_timeout_s, self.settings.max_open_matches)
        for number in overdue:
            self._do(Closed(number, now_s, How.EXPIRED))
        return len(overdue)

    # Learning periods.

    def due(self, player: PlayerId, updates: int) -> Due:
        """Returns what a trainer is to do with its player after some updates; see ``Periods``."""
        return self._periods.due(player, updates)

    def freeze(
        self, player: PlayerId, period: int, weights: Weights, now_s: float, *, anew: bool | None = None
    ) -> Freeze:
        """Freezes a learning player at the end of a period; see ``Periods``."""
        return self._periods.freeze(player, period, weights, now_s, anew=anew)

    def taken_over(self, player: PlayerId) -> LearningPlayer:
        """Notes that a trainer has taken over and published a player's weights; see ``Periods``."""
        return self._periods.taken_over(player)

    def turn(self, trainer: str, leaving: PlayerId, weights: Weights, updates: int) -> LearningPlayer:
        """Turns a trainer to the next of its players; see ``Periods``."""
        return self._periods.turn(trainer, leaving, weights, updates)

    # Asking.

    def pool(self, name: str) -> tuple[PlayerId, ...]:
        """Returns the players of a fixed pool who are in the league.

        Raises:
          LeagueError: There is no such pool.
        """
        if name not in self.settings.pools:
            raise LeagueError(f"the league has no pool {name!r}; there are {', '.join(self.settings.pools) or 'none'}")
        return tuple(player for player in self.settings.pools[name] if player in self.state.roster)

    def side(self, player: PlayerId, *, seats: int = 1, learns: bool = False) -> Side:
        """Returns a side that a player plays.

        Raises:
          LeagueError: There is no such player.
        """
        found = self.state.roster.get(player)
        frozen = isinstance(found, FrozenPlayer)
        return Side(
            player=player,
            period=found.period,
            frozen=frozen,
            learns=learns,
            seats=seats,
            weights=found.weights,
            trainer=found.trainer,
            agent=found.agent if isinstance(found, FrozenPlayer) else None,
            hyperparameters=found.hyperparameters or None,
        )

    def _least_known(self, ids: Sequence[PlayerId], seats: Sequence[int], draws: Draws) -> list[PlayerId]:
        if len(ids) < len(DUEL):
            raise LeagueError(f"an evaluation needs two frozen players, and there are {', '.join(ids) or 'none'}")
        first = max(ids, key=lambda player: self.state.ratings.rating(player).deviation)
        others = [player for player in ids if player != first]
        chances = LeastKnown(self.state.ratings).probabilities(first, others, self.state.payoff)
        return [first, *(others[_drawn(chances, draws)] for _ in seats[1:])]

    def _open(
        self,
        players: Sequence[PlayerId],
        seats: Sequence[int],
        now_s: float,
        purpose: Purpose,
        learner: PlayerId | None,
    ) -> Match:
        sides = tuple(
            self.side(player, seats=count, learns=player == learner)
            for player, count in zip(players, seats, strict=True)
        )
        number = self.state.next_number
        entries = tuple(Entry(side.player, side.period, side.learns, side.seats) for side in sides)
        self._do(Opened(number, now_s, purpose, entries))
        return Match(match_id(self.state.token, number), sides, purpose, now_s)

    def _matchmaker(self, player: PlayerId) -> Matchmaker:
        if player not in self._matchmakers:
            wanted = self.settings.learners[player]
            make = wanted.matchmaker or by_role(wanted.role)
            self._matchmakers[player] = make(Parts(self.state.roster, self.state.ratings, self.equilibrium))
        return self._matchmakers[player]

    def _uncounted(self, reply: Reply) -> Reply:
        self.state.counts[f"results_{reply}"] += 1
        return reply

    def _draws(self) -> Draws:
        return Draws(derive(self.settings.seed, "match", self.state.next_number))

    def _do(self, event: Event) -> None:
        self.state.apply(event)
        self._record(event)


def _drawn(chances: Probabilities, draws: Draws) -> int:
    sums = np.cumsum(chances)
    return int(np.searchsorted(sums, draws.random() * sums[-1], side="right"))


def _check_seats(seats: Sequence[int], own: int) -> None:
    if len(seats) < len(DUEL) or min(seats) < 1 or not 0 <= own < len(seats):
        raise LeagueError(
            f"a match needs two sides or more, each with a seat, and a place among them; got {tuple(seats)} and {own}"
        )
