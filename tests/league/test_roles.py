"""Main players and exploiters meet whom the paper has them meet."""

import numpy as np
import pytest

from app.league.league import League
from app.league.matches import Result
from app.league.matchmaking.pfsp import pfsp
from app.league.matchmaking.roles import MainAgent, without_monotonic_end
from app.league.players import Role, Weights
from app.league.settings import LearnerSettings
from tests.league.leagues import LOSS, WIN, begun, freeze, meet, settings_of


def chances(league: League, player: str) -> dict[str, float]:
    """Returns who may be met, and how probably."""
    found = league.chances(player).tolist()
    return {other: chance for other, chance in zip(league.state.roster.ids, found, strict=True) if chance > 0}


def test_without_anybody_frozen_a_main_player_meets_itself() -> None:
    assert chances(begun(), "main") == {"main": pytest.approx(1.0)}


def test_a_main_player_meets_the_past_and_itself() -> None:
    league = begun()
    freeze(league, "main")
    assert chances(league, "main") == {"main:1": pytest.approx(0.5), "main": pytest.approx(0.5)}


def test_the_past_is_weighted_by_how_hard_it_is() -> None:
    league = begun()
    for _ in range(2):
        freeze(league, "main")
    meet(league, "main", "main:2", WIN, 3)
    meet(league, "main", "main:2", LOSS)
    squared = pfsp(np.array([0.5, 0.75]), "squared")
    # main:1 is beaten less than the newer main:2: it counts as forgotten, both are looked at as equals first.
    variance = pfsp(np.array([0.5, 0.75]), "variance")
    found = chances(league, "main")
    assert found["main:1"] == pytest.approx(0.5 * squared[0] + 0.15 * variance[0])
    assert found["main"] == pytest.approx(0.35)


def test_an_exploiter_that_wins_is_trained_against() -> None:
    league = begun()
    freeze(league, "exploiter")
    freeze(league, "main")
    meet(league, "main", "exploiter:1", LOSS, 5)
    found = chances(league, "main")
    assert found["exploiter:1"] == pytest.approx(0.5 * 1 / 1.25 + 0.15)
    assert found["main"] == pytest.approx(0.35)


def test_of_several_main_players_each_is_met_and_what_is_too_strong_is_met_by_its_past() -> None:
    learners = {"main": LearnerSettings("a"), "other": LearnerSettings("b")}
    league = begun(settings_of(learners=learners))
    freeze(league, "other")
    assert chances(league, "main") == {name: pytest.approx(p) for name, p in
                                       {"other:1": 0.5, "main": 0.25, "other": 0.25}.items()}  # fmt: skip
    meet(league, "main", "other", LOSS, 5)
    assert chances(league, "main") == {"other:1": pytest.approx(0.75), "main": pytest.approx(0.25)}


def test_a_main_exploiter_plays_the_main_player_until_it_never_wins() -> None:
    league = begun()
    freeze(league, "main")
    assert chances(league, "exploiter") == {"main": pytest.approx(1.0)}
    meet(league, "exploiter", "main", LOSS, 5)
    assert chances(league, "exploiter") == {"main:1": pytest.approx(1.0)}


def test_a_league_exploiter_plays_all_that_is_frozen() -> None:
    learners = {"main": LearnerSettings("a"), "wide": LearnerSettings("b", Role.LEAGUE_EXPLOITER)}
    league = begun(settings_of(learners=learners))
    assert chances(league, "wide") == {"wide": pytest.approx(1.0)}
    freeze(league, "main")
    freeze(league, "main")
    meet(league, "wide", "main:1", WIN, 3)
    meet(league, "wide", "main:1", LOSS)
    assert chances(league, "wide") == {"main:1": pytest.approx(1 / 3), "main:2": pytest.approx(2 / 3)}


@pytest.mark.parametrize(
    ("rates", "kept"),
    [([], 0), ([0.5], 0), ([0.9, 0.7, 0.5], 0), ([0.4, 0.9, 0.7], 2), ([0.9, 0.4, 0.5], 3), ([0.5, 0.5], 0)],
)
def test_what_falls_towards_the_newest_is_progress(rates: list[float], kept: int) -> None:
    assert without_monotonic_end(np.array(rates)) == kept


def test_shares_beyond_one_are_refused() -> None:
    with pytest.raises(ValueError, match="at most 1 together"):
        MainAgent(begun().state.roster, self_play=0.9, verification=0.2)


def test_results_until_enough_are_not_trusted() -> None:
    league = begun(settings_of(min_games=5))
    freeze(league, "main")
    meet(league, "exploiter", "main", LOSS, 4)
    assert chances(league, "exploiter") == {"main": pytest.approx(1.0)}
    meet(league, "exploiter", "main", Result((0.0, 1.0)))
    assert chances(league, "exploiter") == {"main:1": pytest.approx(1.0)}


def test_a_main_player_that_waits_for_its_first_turn_is_no_opponent() -> None:
    learners = {"a": LearnerSettings("shared"), "b": LearnerSettings("shared")}
    league = begun(settings_of(learners=learners))
    assert chances(league, "a") == {"a": pytest.approx(1.0)}
    league.turn("shared", "a", Weights("a at 1"), 1)
    league.taken_over("b")
    assert chances(league, "b") == {"a": pytest.approx(0.5), "b": pytest.approx(0.5)}
    freeze(league, "b", anew=True)
    assert league.state.roster.begun == ("b:1", "a")
