"""Matches, and what results mean."""

import pytest

from app.errors import LeagueError
from app.league.events import Event, Left, Opened
from app.league.hyperparameters import Span
from app.league.image import image_of, parts_of, state_in
from app.league.league import League
from app.league.matches import ABORTED, Reply, Result
from app.league.matchmaking.among import Among
from app.league.matchmaking.pfsp import Pfsp
from app.league.players import UNTRAINED, FrozenPlayer, LearningPlayer, Role, Weights
from app.league.promotion import PromotionTest
from app.league.settings import LearnerSettings, Parts
from app.seeding import Draws
from app.types import Purpose
from tests.league.leagues import DRAW, LOSS, WIN, begun, freeze, meet, play, settings_of

BOT = FrozenPlayer("bot", agent="scripted")


def test_a_match_says_who_sits_where() -> None:
    league = begun()
    freeze(league, "main")
    match = league.next_match("exploiter", 5.0, (2, 3), own=1)
    opponent, own = match.sides
    assert (opponent.player, opponent.frozen, opponent.learns, opponent.seats) == ("main", False, False, 2)
    assert (own.player, own.learns, own.seats, own.trainer) == ("exploiter", True, 3, "second")
    assert (match.own, match.opened_s, match.purpose) == (1, 5.0, Purpose.TRAIN)
    assert own.weights is None  # The newest that its trainer has published.


def test_in_self_play_both_sides_learn() -> None:
    assert [side.learns for side in begun().next_match("main", 0.0).sides] == [True, True]


def test_a_frozen_side_has_the_weights_and_values_of_its_period() -> None:
    league = begun()
    freeze(league, "main")
    side = league.side("main:1")
    assert (side.weights, side.frozen, side.trainer, side.period) == (Weights("main-1"), True, "first", 1)


def test_a_supplied_opponent_is_played_by_its_agent() -> None:
    league = begun(settings_of(supplied={"bot": BOT}))
    assert league.side("bot").agent == "scripted"
    assert league.side("bot").trainer is None
    assert {side.player for _ in range(50) for side in league.next_match("main", 0.0).sides} == {"main", "bot"}


def test_equal_seeds_draw_equal_matches_also_after_a_restart() -> None:
    def opponents(league: League) -> list[str]:
        return [league.next_match("main", 0.0).sides[1].player for _ in range(20)]

    first, second = begun(settings_of(supplied={"bot": BOT})), begun(settings_of(supplied={"bot": BOT}))
    assert opponents(first) == opponents(second)
    assert opponents(League(first.settings, state=first.state)) == opponents(second)


@pytest.mark.parametrize(("seats", "own"), [((1,), 0), ((), 0), ((1, 0), 0), ((1, 1), 2), ((1, 1), -1)])
def test_sides_that_are_none_are_refused(seats: tuple[int, ...], own: int) -> None:
    with pytest.raises(LeagueError, match="two sides or more"):
        begun().next_match("main", 0.0, seats, own)


def test_only_learning_players_are_handed_matches() -> None:
    league = begun()
    freeze(league, "main")
    with pytest.raises(LeagueError, match="'main:1' is frozen"):
        league.next_match("main:1", 0.0)
    with pytest.raises(LeagueError, match="'nobody' is not in the league; those that learn are main, exploiter"):
        league.next_match("nobody", 0.0)


def test_a_result_that_comes_three_times_counts_once() -> None:  # Case 14.
    league = begun()
    match = league.next_match("exploiter", 0.0)
    assert [league.report(match.id, WIN, 0.0) for _ in range(3)] == [Reply.COUNTED, Reply.DUPLICATE, Reply.DUPLICATE]
    assert league.state.payoff.games("exploiter", "main") == 1
    assert league.state.counts["results_duplicate"] == 2


def test_the_stronger_one_wins_the_payoff_whatever_its_side() -> None:  # Case 15.
    league = begun()
    for number in range(40):
        own = number % 2
        match = league.next_match("exploiter", 0.0, own=own)
        league.report(match.id, WIN if own == 0 else LOSS, 0.0)
    payoff = league.state.payoff
    assert payoff.win_rate("exploiter", "main") > 0.9
    assert payoff.win_rate("exploiter", "main") + payoff.win_rate("main", "exploiter") == 1.0
    assert league.state.ratings.rating("exploiter").mean > league.state.ratings.rating("main").mean
    assert (league.state.tallies["exploiter"].wins, league.state.tallies["main"].losses) == (40, 40)


def test_a_draw_is_half_a_win() -> None:  # Case 15.
    league = begun()
    play(league, "exploiter", DRAW)
    assert league.state.payoff.win_rate("exploiter", "main") == 0.5
    assert league.state.tallies["main"].draws == 1


def test_unknown_pairs_beaten_ones_and_nobody_are_no_fault_of_pfsp() -> None:  # Case 16.
    def only_pfsp(parts: Parts) -> Among:
        return Among(lambda _: parts.roster.frozen_ids, Pfsp())

    league = begun(settings_of(learners={"main": LearnerSettings("first", matchmaker=only_pfsp)}))
    assert league.next_match("main", 0.0).sides[1].player == "main"  # Nobody is frozen: itself.
    for _ in range(3):
        freeze(league, "main")
    assert league.chances("main").tolist() == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0])  # Unknown: all alike.
    for old in ("main:1", "main:2", "main:3"):
        meet(league, "main", old, WIN)
    assert league.chances("main").tolist() == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0])  # All beaten: all alike.


def test_a_match_of_three_sides_counts_each_pair() -> None:
    league = begun(settings_of(supplied={"a": FrozenPlayer("a"), "b": FrozenPlayer("b")}))
    match = league._open(["main", "a", "b"], (1, 1, 1), 0.0, Purpose.TRAIN, "main")
    assert league.report(match.id, Result.of_ranks([1, 3, 2]), 0.0) is Reply.COUNTED
    payoff = league.state.payoff
    assert (payoff.win_rate("main", "a"), payoff.win_rate("main", "b"), payoff.win_rate("a", "b")) == (1.0, 1.0, 0.0)
    tallies = league.state.tallies
    assert [(tallies[p].wins, tallies[p].losses) for p in ("main", "a", "b")] == [(2, 0), (0, 2), (1, 1)]


def test_a_result_counts_for_what_the_player_was() -> None:
    league = begun()
    match = league.next_match("exploiter", 0.0)
    freeze(league, "exploiter", anew=True)
    assert league.report(match.id, WIN, 0.0) is Reply.COUNTED
    assert league.state.payoff.games("exploiter:1", "main") == 1
    assert league.state.payoff.games("exploiter", "main") == 0
    assert league.state.counts["results_of_a_past_period"] == 1


def test_a_match_that_takes_too_long_is_given_up_and_its_result_late() -> None:
    league = begun(settings_of(match_timeout_s=10.0))
    match = league.next_match("exploiter", 0.0)
    assert league.report(match.id, WIN, 11.0) is Reply.LATE
    assert league.state.payoff.games("exploiter", "main") == 0
    assert (league.state.counts["matches_expired"], league.state.counts["results_late"]) == (1, 1)


def test_of_too_many_matches_the_oldest_is_given_up() -> None:
    league = begun(settings_of(max_open_matches=2))
    matches = [league.next_match("exploiter", 0.0) for _ in range(4)]
    league.expire(0.0)
    assert [league.report(match.id, WIN, 0.0) for match in matches] == [
        Reply.LATE,
        Reply.LATE,
        Reply.COUNTED,
        Reply.COUNTED,
    ]


def test_an_aborted_match_counts_nothing_and_its_result_comes_too_late() -> None:
    league = begun()
    match = league.next_match("exploiter", 0.0)
    assert league.report(match.id, ABORTED, 0.0) is Reply.ABORTED
    assert league.report(match.id, WIN, 0.0) is Reply.DUPLICATE
    assert league.state.tallies["main"].games == 0


@pytest.mark.parametrize("match", ["test-0", "test-2", "other-1", "test-x", "1", "", "test--1", "test-\u0661"])
def test_matches_of_nobody_are_unknown(match: str) -> None:
    league = begun()
    league.next_match("main", 0.0)
    assert league.report(match, WIN, 0.0) is Reply.UNKNOWN


@pytest.mark.parametrize("scores", [(1.0,), (1.0, 0.0, 0.0), (float("nan"), 0.0), (float("inf"), 0.0)])
def test_a_result_that_does_not_fit_leaves_the_match_open(scores: tuple[float, ...]) -> None:
    league = begun()
    match = league.next_match("exploiter", 0.0)
    with pytest.raises(LeagueError, match="allowed are as many finite scores"):
        league.report(match.id, Result(scores), 0.0)
    assert league.report(match.id, WIN, 0.0) is Reply.COUNTED


def test_a_frozen_opponent_stays_what_it_was() -> None:  # Case 7: names and hashes; weights are their keeper's.
    league = begun()
    weights = Weights("clones/a", "0123")
    league.freeze("main", 1, weights, 0.0, anew=False)
    for _ in range(5):
        play(league, "exploiter", WIN)
        freeze(league, "main")
    assert league.side("main:1").weights == weights
    with pytest.raises(LeagueError, match="frozen players do not change"):
        league.state.roster.put(FrozenPlayer("main:1", weights=Weights("other")))
    with pytest.raises(LeagueError, match="frozen players do not change"):
        league.state.roster.put(LearningPlayer("main:1", Role.MAIN, "first"))


def test_who_is_new_in_the_settings_joins_and_who_is_gone_leaves() -> None:
    events: list[Event] = []
    league = begun(record=events.append)
    freeze(league, "exploiter")
    pending = league.next_match("exploiter", 0.0)
    learners = {"main": LearnerSettings("first"), "late": LearnerSettings("third", Role.LEAGUE_EXPLOITER)}
    again = League(settings_of(learners=learners, supplied={"bot": BOT}), events.append, league.state)
    again.begin("another", 1.0)
    assert set(again.state.roster.learning) == {"main", "late"}
    assert set(again.state.roster.frozen) == {"bot"}  # Nobody has the trainer of what the exploiter was.
    assert again.state.turns == {"first": "main", "third": "late"}
    assert again.report(pending.id, WIN, 1.0) is Reply.COUNTED  # Whoever played is gone: it counts for nobody.
    assert again.state.tallies["main"].games == 0


def test_who_comes_back_has_its_results() -> None:
    league = begun(settings_of(supplied={"bot": BOT}))
    freeze(league, "exploiter")
    meet(league, "bot", "exploiter:1", WIN, 3)
    meet(league, "bot", "exploiter", WIN, 3)
    rating = league.state.ratings.rating("bot")
    without = League(settings_of(learners={"main": LearnerSettings("first")}), state=league.state)
    without.begin("test", 1.0)
    assert set(without.state.roster.ids) == {"main"}
    kept = state_in(b"".join(parts_of(image_of(without.state))), without.settings)
    assert kept.roster.away == without.state.roster.away
    back = League(settings_of(supplied={"bot": BOT}), state=without.state)
    assert back.begin("test", 2.0) == ()
    assert set(back.state.roster.ids) == {"main", "exploiter", "exploiter:1", "bot"}
    assert back.state.payoff.win_rate("bot", "exploiter:1") == 1.0
    assert back.state.ratings.rating("bot") == rating
    assert back.state.roster.learner("exploiter").period == 2  # exploiter:1 is taken.
    assert back.state.payoff.games("exploiter", "bot") == 0
    assert back.state.roster.away == {}


def test_an_opponent_that_is_described_otherwise_stays_and_is_told() -> None:
    league = begun(settings_of(supplied={"bot": BOT}))
    other = FrozenPlayer("bot", agent="another")
    again = League(settings_of(supplied={"bot": other}), state=league.state)
    assert again.begin("test", 1.0) == ("bot",)
    assert again.side("bot").agent == "scripted"


def test_a_changed_role_trainer_or_bound_is_taken_up() -> None:
    first = LearnerSettings("first", spans={"rate": Span(1.0, 0.5, 2.0), "gone": Span(3.0), "fixed": Span(4.0)})
    league = begun(settings_of(learners={"main": first}))
    then = LearnerSettings(
        "second", Role.LEAGUE_EXPLOITER, spans={"rate": Span(0.2, 0.1, 0.6), "new": Span(7.0), "fixed": Span(5.0)}
    )
    again = League(settings_of(learners={"main": then}), state=league.state)
    again.begin("test", 1.0)
    player = again.state.roster.learner("main")
    assert (player.trainer, player.role, again.state.turns) == ("second", Role.LEAGUE_EXPLOITER, {"second": "main"})
    assert player.hyperparameters == {"rate": 0.6, "new": 7.0, "fixed": 5.0}
    assert again.state.roster.mains == ()
    assert player.weights == UNTRAINED  # The newest weights of the second trainer are not its own.


def test_a_player_takes_what_it_was_to_another_trainer() -> None:
    league = begun()
    freeze(league, "main")
    learners = {"main": LearnerSettings("third"), "exploiter": LearnerSettings("second", Role.MAIN_EXPLOITER)}
    again = League(settings_of(learners=learners), state=league.state)
    again.begin("test", 1.0)
    assert again.side("main").weights == Weights("main-1")
    assert "main:1" in again.state.roster.away  # Nobody has its trainer any more.


def test_the_challenger_meets_the_champion_until_there_is_a_verdict() -> None:
    league = begun(settings_of(promotion=PromotionTest(0.05, 0.05, 0.5, 0.8)))
    freeze(league, "main")
    assert league.state.championship.champion == "main:1"
    freeze(league, "main")
    while league.state.championship.challenger is not None:
        match = league.next_evaluation(0.0)
        assert match.purpose is Purpose.EVALUATE
        assert {side.player for side in match.sides} == {"main:1", "main:2"}
        assert not any(side.learns for side in match.sides)
        league.report(match.id, Result(tuple(float(side.player == "main:2") for side in match.sides)), 0.0)
    assert league.state.championship.champion == "main:2"
    assert league.state.championship.promoted == 1


def test_a_champion_who_is_met_no_more_makes_way() -> None:
    league = begun()
    for _ in range(2):
        freeze(league, "main")
    championship = league.state.championship
    assert championship.pair == ("main:2", "main:1")
    league.state.apply(Left("main:1"))
    assert (championship.champion, championship.challenger) == ("main:2", None)
    freeze(league, "main")
    league.state.apply(Left("main:3"))
    assert (championship.champion, championship.pair) == ("main:2", None)
    league.state.apply(Left("main:2"))
    assert championship.champion is None


def test_of_a_thousand_equal_challengers_no_more_are_promoted_than_declared() -> None:
    test = PromotionTest(0.05, 0.1, 0.5, 0.65)
    league, draws = begun(settings_of(promotion=test, rating="elo")), Draws(5)
    freeze(league, "main")
    for _ in range(1000):
        championship = league.state.championship
        championship.enter("challenger")
        while championship.challenger is not None:
            first = draws.random() < 0.5
            home, away = ("challenger", championship.champion) if first else (championship.champion, "challenger")
            championship.record(str(home), str(away), float(draws.random() < 0.5))
        championship.champion = "main:1"
    assert championship.promoted <= 0.05 * 1000
    assert championship.promoted + championship.rejected == 1000


def test_evaluation_goes_where_least_is_known() -> None:
    supplied = {name: FrozenPlayer(name) for name in ("a", "b", "c", "new")}
    league = begun(settings_of(supplied=supplied))
    for home, away in (("a", "b"), ("b", "c"), ("c", "a")):
        meet(league, home, away, WIN, 10)
        meet(league, home, away, LOSS, 10)
    met = [{side.player for side in league.next_evaluation(0.0).sides} for _ in range(30)]
    assert all("new" in players for players in met)
    assert len(set(map(frozenset, met))) == 3


def test_an_evaluation_needs_two_players_of_a_known_pool() -> None:
    league = begun(settings_of(supplied={"bot": BOT}, pools={"all": ("bot", "main:1")}))
    with pytest.raises(LeagueError, match="two frozen players, and there are bot"):
        league.next_evaluation(0.0)
    freeze(league, "main")
    assert {side.player for side in league.next_evaluation(0.0, pool="all").sides} == {"bot", "main:1"}
    with pytest.raises(LeagueError, match="no pool 'other'; there are all"):
        league.next_evaluation(0.0, pool="other")


def test_every_change_is_recorded_before_it_is_told() -> None:
    events: list[Event] = []
    league = begun(record=events.append)
    number = league.state.next_number
    league.next_match("main", 0.0)
    last = events[-1]
    assert isinstance(last, Opened)
    assert last.number == number
