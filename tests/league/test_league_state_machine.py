"""Whatever happens in whatever order, each result counts once, for the one who played, and a restart loses nothing."""

from collections import Counter
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import settings as runs
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

from app.league.image import image_of, parts_of, state_in
from app.league.league import League
from app.league.matches import ABORTED, Match, Reply, Result
from app.league.players import Role, Weights
from app.league.settings import LeagueSettings, LearnerSettings
from app.league.state import LeagueState
from tests.league.leagues import repeated

if TYPE_CHECKING:
    from app.league.events import Event

TIMEOUT_S = 100.0
SETTINGS = LeagueSettings(
    {
        "main": LearnerSettings("first"),
        "other": LearnerSettings("first"),
        "exploiter": LearnerSettings("second", Role.MAIN_EXPLOITER),
    },
    decay=0.9,
    match_timeout_s=TIMEOUT_S,
    max_open_matches=5,
)
LEARNERS = st.sampled_from(list(SETTINGS.learners))


class AnyOrder(RuleBasedStateMachine):
    matches = Bundle("matches")

    @initialize()
    def begin(self) -> None:
        self.events: list[Event] = []
        self.league = League(SETTINGS, self.events.append)
        self.league.begin("test", 0.0)
        self.now_s = 0.0
        self.open: dict[str, Match] = {}
        self.given_up: set[str] = set()
        self.periods = dict.fromkeys(SETTINGS.learners, 1)
        self.pairs: Counter[tuple[str, str]] = Counter()
        self.replies: Counter[Reply] = Counter()

    @rule(target=matches, player=LEARNERS, seats=st.sampled_from([(1, 1), (2, 3), (1, 1, 1)]))
    def next(self, player: str, seats: tuple[int, ...]) -> Match:
        self._give_up()
        match = self.league.next_match(player, self.now_s, seats)
        assert [side.seats for side in match.sides] == list(seats)
        assert match.sides[0].player == player
        self.open[match.id] = match
        return match

    @rule(target=matches, match=consumes(matches), scores=st.lists(st.sampled_from([0.0, 1.0, 2.0]), min_size=3))
    def report(self, match: Match, scores: list[float]) -> Match:
        result = Result(tuple(scores[: len(match.sides)]))
        reply = self._reported(match, result)
        if reply is Reply.COUNTED:
            self._count(match, result)
        return match  # So that it is reported again.

    @rule(target=matches, match=consumes(matches))
    def abort(self, match: Match) -> Match:
        self._reported(match, ABORTED)
        return match

    @rule(number=st.integers(10_000, 20_000))
    def strange(self, number: int) -> None:
        assert self.league.report(f"test-{number}", ABORTED, self.now_s) is Reply.UNKNOWN
        assert self.league.report(f"other-{1}", ABORTED, self.now_s) is Reply.UNKNOWN
        self.replies[Reply.UNKNOWN] += 2

    @rule(seconds=st.floats(1, 80))
    def wait(self, seconds: float) -> None:
        self.now_s += seconds

    @rule(player=LEARNERS, anew=st.booleans(), again=st.booleans())
    def freeze(self, player: str, anew: bool, again: bool) -> None:
        period = self.periods[player]
        first = self.league.freeze(player, period, Weights("w"), self.now_s, anew=anew)
        if again:
            assert self.league.freeze(player, period, Weights("x"), self.now_s, anew=not anew) == first
        self.periods[player] += 1
        if anew:
            for pair in [pair for pair in self.pairs if player in pair]:
                del self.pairs[pair]

    @rule()
    def restart_from_the_journal(self) -> None:
        self._go_on(repeated(self.events, SETTINGS))

    @rule()
    def restart_from_a_snapshot(self) -> None:
        self._go_on(state_in(b"".join(parts_of(image_of(self.league.state))), SETTINGS))

    @invariant()
    def payoff_is_antisymmetric_and_counts_are_right(self) -> None:
        payoff = self.league.state.payoff
        ids = self.league.state.roster.ids
        rates = payoff.matrix(ids)
        np.testing.assert_allclose(rates + rates.T, 1.0)
        for home, away in combinations(ids, 2):
            assert payoff.games(home, away) == self.pairs[home, away] == payoff.games(away, home)
            assert (payoff.win_rate(home, away) == 0.5) or self.pairs[home, away]

    @invariant()
    def every_match_is_open_or_has_one_end(self) -> None:
        counts = self.league.state.counts
        ends = sum(counts[f"matches_{how}"] for how in ("finished", "aborted", "expired"))
        assert counts["matches_opened"] == ends + len(self.league.state.matches)
        assert counts["matches_finished"] == self.replies[Reply.COUNTED]
        assert counts["matches_aborted"] == self.replies[Reply.ABORTED]

    def _reported(self, match: Match, result: Result) -> Reply:
        self._give_up()
        wanted = (
            (Reply.ABORTED if result.aborted else Reply.COUNTED)
            if match.id in self.open
            else Reply.LATE
            if match.id in self.given_up
            else Reply.DUPLICATE
        )
        reply = self.league.report(match.id, result, self.now_s)
        assert reply is wanted
        self.open.pop(match.id, None)
        self.replies[reply] += 1
        return reply

    def _give_up(self) -> None:
        """Does by hand what the league does with matches that take too long, or are too many."""
        for match in list(self.open.values()):
            if len(self.open) > 5 or self.now_s - match.opened_s > TIMEOUT_S:
                self.given_up.add(match.id)
                del self.open[match.id]

    def _count(self, match: Match, result: Result) -> None:
        ids = [
            side.player if side.frozen or self.periods[side.player] == side.period else f"{side.player}:{side.period}"
            for side in match.sides
        ]
        for one, other in combinations(ids, 2):
            if one != other:
                self.pairs[one, other] += 1
                self.pairs[other, one] += 1

    def _go_on(self, state: LeagueState) -> None:
        before = image_of(self.league.state).told
        uncounted = {name for name in before["counts"] if name.startswith("results_")}
        after = image_of(state).told
        assert {**after, "counts": 0} == {**before, "counts": 0}
        for name, count in before["counts"].items():
            assert name in uncounted or after["counts"].get(name, 0) == count
        self.league = League(SETTINGS, self.events.append, state)
        self.league.begin("again", self.now_s)


TestAnyOrder = AnyOrder.TestCase
TestAnyOrder.settings = runs(max_examples=25, stateful_step_count=30, deadline=None)
