import numpy as np
import pytest

from app.errors import BadPayloadError
from app.games.arena.arena_pb2 import Entity, TickInput
from app.games.arena.game import FIRST_SKILL, MAX_ACTIONS, Arena, Setup, Skill
from app.games.arena.messages import stop_of, tick_of
from app.games.arena.observation import FEATURES, ROWS, UNITS, observe

COLUMN = {name: number for number, name in enumerate(FEATURES)}
SKILLS = (Skill(1, 10, 2), Skill(3, 5, 4, heals=True))


def arena() -> Arena:
    made = Arena(Setup(2, 1, SKILLS), np.random.default_rng(0))
    made.place[:] = (1, 1), (3, 1), (1, 5)
    return made


def test_each_entity_and_skill_is_a_row_and_all_others_are_zero() -> None:
    seen = observe(tick_of(arena(), [1], 0.5)).observation
    assert seen.shape == (ROWS, len(FEATURES))
    assert seen.dtype == np.float32
    assert np.flatnonzero(seen[:, COLUMN["present"]]).tolist() == [0, 1, 2, UNITS, UNITS + 1]
    assert not seen[3:UNITS].any()
    assert not seen[UNITS + 2 :].any()
    assert seen[:3, COLUMN["is_self"]].tolist() == [0, 1, 0]
    assert seen[:3, COLUMN["is_boss"]].tolist() == [0, 0, 1]
    assert seen[:3, COLUMN["dx"]].tolist() == [-0.25, 0, -0.25]
    assert seen[:3, COLUMN["dy"]].tolist() == [0, 0, 0.5]
    assert seen[:3, COLUMN["health"]].tolist() == pytest.approx([0.4, 0.4, 0.5])
    assert seen[UNITS : UNITS + 2, COLUMN["heals"]].tolist() == [0, 1]
    assert seen[UNITS : UNITS + 2, COLUMN["reach"]].tolist() == [0.125, 0.375]
    assert np.isfinite(seen).all()


def test_the_dead_are_not_seen() -> None:
    game = arena()
    game.health[0] = 0
    seen = observe(tick_of(game, [1])).observation
    assert seen[:, COLUMN["present"]].sum() == 4
    assert seen[0, COLUMN["is_self"]] == 1


def test_a_dead_player_sees_its_end_without_itself() -> None:
    game = arena()
    game.health[1] = 0
    stop = stop_of(game, [1])
    assert (stop.terminated, stop.truncated) == (True, False)
    assert not observe(stop.last).observation[:, COLUMN["is_self"]].any()


def test_the_wait_for_a_skill_is_ones_own() -> None:
    game = arena()
    game.waits[1] = 0, 2
    assert observe(tick_of(game, [1])).observation[UNITS + 1, COLUMN["wait"]] == 0.5
    assert observe(tick_of(game, [0])).observation[UNITS + 1, COLUMN["wait"]] == 0


def test_actions_of_absent_skills_are_not_legal() -> None:
    game = arena()
    seen = observe(tick_of(game, [0]))
    assert len(seen.legal) == MAX_ACTIONS
    assert seen.legal[: FIRST_SKILL + 2] == game.legal(0).tolist()
    assert not any(seen.legal[FIRST_SKILL + 2 :])


def test_a_tick_says_who_decides_and_gives_the_reward() -> None:
    tick = tick_of(arena(), [0, 1], 0.25)
    assert ([control.entity for control in tick.controls], tick.reward) == ([0, 1], 0.25)
    assert TickInput.FromString(tick.SerializeToString()) == tick


def test_a_tick_that_fits_no_player_says_why() -> None:
    def wrong(message: str, tick: TickInput) -> None:
        with pytest.raises(BadPayloadError, match=message):
            observe(tick)

    wrong("has one control, got 0", TickInput())
    wrong("has one control, got 2", tick_of(arena(), [0, 1]))
    stranger, crowded, short, flat = (tick_of(arena(), [0]) for _ in range(4))
    stranger.controls[0].entity = 9
    wrong("the control is for entity 9, which is not among the entities", stranger)
    crowded.entities.extend(Entity(id=9, health=1) for _ in range(UNITS))
    wrong("9 living entities and 2 skills; allowed are 6 and 4", crowded)
    del short.controls[0].legal[-1]
    wrong("entity 0 has 6 legal flags and 2 waits_ticks; allowed are 7 and 2", short)
    flat.width = 0
    wrong("the arena is 0 × 6 cells; allowed are positive sizes", flat)
