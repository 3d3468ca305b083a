from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.games.arena.game import FIRST_SKILL, STAY, Arena, Setup, Side, Skill

UP, DOWN, LEFT, RIGHT = range(1, 5)
STRIKE = Skill(reach=2, power=10, cooldown_ticks=2)
HEAL = Skill(reach=3, power=15, cooldown_ticks=1, heals=True)


def arena(*places: tuple[int, int], players: int = 1, skills: tuple[Skill, ...] = (STRIKE,), **more: Any) -> Arena:
    """Returns a game whose entities stand where they are put, players first."""
    made = Arena(Setup(players, len(places) - players, skills, **more), np.random.default_rng(0))
    made.place[:] = places
    return made


def played(seed: int) -> tuple[Arena, list[dict[int, int]]]:
    """Returns a game that was played to its end with random legal actions, and these."""
    rng = np.random.default_rng(seed)
    game, log = Arena(Setup.draw(rng), rng), []
    while not (game.terminated or game.truncated):
        actions = {
            int(entity): int(rng.choice(np.flatnonzero(game.legal(entity)))) for entity in np.flatnonzero(game.alive)
        }
        game.step(actions)
        log.append(actions)
    return game, log


def test_moves_go_one_cell_and_stop_at_the_edge_and_at_others() -> None:
    game = arena((0, 0), (1, 0))
    assert np.flatnonzero(game.legal(0)[:FIRST_SKILL]).tolist() == [STAY, DOWN]
    game.step({0: DOWN})
    assert game.place[0].tolist() == [0, 1]
    assert np.flatnonzero(game.legal(0)[:FIRST_SKILL]).tolist() == [STAY, UP, DOWN, RIGHT]


def test_of_two_that_want_one_cell_the_first_gets_it() -> None:
    game = arena((0, 0), (2, 0), (7, 5), players=2)
    game.step({1: LEFT, 0: RIGHT})
    assert game.place[:2].tolist() == [[1, 0], [2, 0]]


def test_a_skill_strikes_the_nearest_enemy_in_reach_and_then_cools_down() -> None:
    game = arena((3, 3), (3, 5), (3, 4))
    game.step({0: FIRST_SKILL})
    assert game.lost.tolist() == [0, 0, 10]
    assert not game.legal(0)[FIRST_SKILL]
    game.step({})
    assert game.legal(0)[FIRST_SKILL]
    game.place[1:] = (0, 0), (7, 0)
    assert not game.legal(0)[FIRST_SKILL]


def test_healing_goes_to_the_ally_that_lacks_the_most_and_never_above_full() -> None:
    game = arena((0, 0), (1, 0), (0, 1), (7, 5), players=3, skills=(STRIKE, HEAL))
    assert not game.legal(0)[FIRST_SKILL + 1]
    game.health[:3] = 30, 35, 28
    game.step({0: FIRST_SKILL + 1})
    assert game.health[:3].tolist() == [30, 35, 40]
    assert game.gained.tolist() == [0, 0, 12, 0]


def test_who_strikes_each_other_to_death_both_die() -> None:
    game = arena((0, 0), (1, 0))
    game.health[:] = 5, 5
    game.step({0: FIRST_SKILL, 1: FIRST_SKILL})
    assert (game.alive.tolist(), game.terminated, game.won) == ([False, False], True, False)
    assert game.lost.tolist() == [5, 5]


def test_nobody_who_dies_is_healed_and_the_dead_leave_their_cell() -> None:
    game = arena((0, 0), (1, 0), (2, 0), players=2, skills=(STRIKE, HEAL))
    game.health[:2] = 40, 1
    game.step({0: FIRST_SKILL + 1, 2: FIRST_SKILL})
    assert game.health[1] == 0
    assert np.flatnonzero(game.legal(1)).tolist() == [STAY]
    assert game.legal(0)[RIGHT]


@pytest.mark.parametrize("action", [UP, FIRST_SKILL, FIRST_SKILL + 1, -1, 99])
def test_an_illegal_action_is_refused_and_changes_nothing(action: int) -> None:
    game = arena((0, 0), (7, 5))
    with pytest.raises(ValueError, match=rf"entity 0 chose action {action}; legal are \[0, 2, 4\]"):
        game.step({1: LEFT, 0: action})
    assert (game.tick, game.place.tolist()) == (0, [[0, 0], [7, 5]])


def test_a_game_is_cut_at_its_last_tick_and_then_over() -> None:
    game = arena((0, 0), (7, 5), max_ticks=2)
    game.step({})
    assert not game.truncated
    game.step({})
    assert (game.truncated, game.terminated) == (True, False)
    with pytest.raises(ValueError, match="the game is over after tick 2"):
        game.step({})


def test_rewards_are_shares_of_health_and_one_for_the_win() -> None:
    game = arena((0, 0), (1, 0), (3, 0), players=2)
    game.health[2] = 15
    game.step({1: FIRST_SKILL, 2: FIRST_SKILL})
    assert game.reward(0) == pytest.approx(10 / 50)
    assert game.reward(1) == pytest.approx(10 / 50 - 10 / 40)
    game.step({})
    game.step({1: FIRST_SKILL})
    assert game.won
    assert game.reward(0) == pytest.approx(5 / 50 + 1)


@pytest.mark.parametrize(
    "wrong",
    [{"players": 0}, {"players": 5}, {"bosses": 3}, {"skills": ()}, {"max_ticks": 0}, {"width": 1, "height": 1}],
)
def test_an_impossible_setup_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"an arena has|do not fit"):
        Setup(**{"players": 1, "bosses": 1, "skills": (STRIKE,)} | wrong)


@given(st.integers(0, 2**31))
@settings(max_examples=40, deadline=None)
def test_a_game_that_is_played_at_random_keeps_the_rules(seed: int) -> None:
    rng = np.random.default_rng(seed)
    game = Arena(Setup.draw(rng), rng)
    taken = given_back = np.zeros_like(game.health)
    while not (game.terminated or game.truncated):
        dead = ~game.alive
        game.step({int(e): int(rng.choice(np.flatnonzero(game.legal(e)))) for e in np.flatnonzero(game.alive)})
        taken, given_back = taken + game.lost, given_back + game.gained
        living = game.place[game.alive]
        assert len({tuple(cell) for cell in living.tolist()}) == len(living)
        assert ((living >= 0) & (living < (game.setup.width, game.setup.height))).all()
        assert ((game.health >= 0) & (game.health <= game.max_health)).all()
        assert not (dead & game.alive).any()
    assert (game.max_health - taken + given_back == game.health).all()
    assert game.tick <= game.setup.max_ticks


def test_equal_seeds_play_equal_games() -> None:
    for seed in range(5):
        (one, log), (other, same_log) = played(seed), played(seed)
        assert log == same_log
        assert (one.health.tolist(), one.place.tolist()) == (other.health.tolist(), other.place.tolist())


def test_random_setups_reach_every_size() -> None:
    setups = [Setup.draw(np.random.default_rng(seed)) for seed in range(200)]
    assert {setup.players for setup in setups} == {1, 2, 3, 4}
    assert {setup.bosses for setup in setups} == {1, 2}
    assert {len(setup.skills) for setup in setups} == {1, 2, 3, 4}
    assert not any(setup.skills[0].heals for setup in setups)
    assert any(skill.heals for setup in setups for skill in setup.skills)


def test_sides_are_numbered_players_first() -> None:
    assert arena((0, 0), (1, 0), (2, 0), players=2).side.tolist() == [Side.PLAYER, Side.PLAYER, Side.BOSS]
