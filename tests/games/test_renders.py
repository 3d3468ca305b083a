"""Pictures of our games."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from app.games.arena.arena_pb2 import SIDE_BOSS, SIDE_PLAYER, Control, Entity, StopInput, TickInput
from app.games.arena.render import arena
from app.games.cartpole.render import cart
from app.games.connect_four.render import stones
from app.games.pong.render import court
from app.games.tic_tac_toe.render import marks
from app.recordings.reading import Episode, read_episode
from app.render.drawing import BLUE, GOLD, PAPER, RED
from app.render.frame import Frame
from tests.recordings.played import write_games


@pytest.fixture
async def episode(tmp_path: Path) -> Episode:
    return read_episode(await write_games(tmp_path / "player.parquet", [1]), 0)


def frame(episode: Episode, observation: NDArray[Any], likely: list[float] | None = None, action: int = 0) -> Frame:
    logits = None if likely is None else np.log(np.maximum(np.array(likely, np.float32), 1e-30))
    step = replace(
        episode.ticks[0],
        observation={"": observation},
        action={"": np.array(action)},
        action_mask={},
        dist_inputs={} if logits is None else {"": logits},
    )
    leaf = {"kind": "Categorical", "choices": 0 if likely is None else len(likely)}
    return Frame(replace(episode, spec={"action": {"": leaf}}), step, 0)


def at(picture: Any, x: int, y: int) -> tuple[int, ...]:
    return tuple(picture[y, x].tolist())


async def test_a_cart_stands_where_the_observation_says(episode: Episode) -> None:
    middle = cart(frame(episode, np.zeros(4, np.float32), action=1))
    assert at(middle, 160, 150) == BLUE
    assert at(middle, 160, 80) == GOLD
    right = cart(frame(episode, np.array([1.2, 0, 0.5, 0], np.float32)))
    assert at(right, 160, 150) == PAPER
    assert at(right, 160 + 69, 150) == BLUE
    assert cart(frame(episode, np.zeros(3, np.float32))).shape == (200, 320, 3)  # type: ignore[union-attr]


async def test_paddles_and_ball_stand_where_the_observation_says(episode: Episode) -> None:
    seen = np.array([0.5, -0.5, 0.0, 0.0, 0.0, 0.0], np.float32)
    picture = court(frame(episode, seen))
    assert at(picture, 11, 14 + 58) == BLUE
    assert at(picture, 249, 14 + 174) == RED
    assert at(picture, 130, 130) == GOLD


async def test_marks_stand_on_the_board_and_likely_moves_are_golden(episode: Episode) -> None:
    planes = np.zeros((2, 3, 3), np.float32)
    planes[0, 0, 0] = planes[1, 2, 1] = 1
    picture = marks(frame(episode, planes, [0, 0, 1, 0, 0, 0, 0, 0, 0], action=2))
    assert at(picture, 24, 24) == BLUE
    assert at(picture, 72, 120) == RED
    assert at(picture, 120, 12) == GOLD
    assert at(picture, 72, 72) == PAPER


async def test_stones_lie_at_the_bottom_and_a_likely_column_is_golden_above_them(episode: Episode) -> None:
    planes = np.zeros((2, 6, 7), np.float32)
    planes[0, 0, 3] = planes[1, 1, 3] = 1
    picture = stones(frame(episode, planes, [0, 0, 0, 1, 0, 0, 0], action=3))
    assert at(picture, 3 * 48 + 24, 5 * 48 + 24) == BLUE
    assert at(picture, 3 * 48 + 24, 4 * 48 + 24) == RED
    assert at(picture, 3 * 48 + 24, 3 * 48 + 12) == GOLD


async def test_the_arena_is_drawn_from_what_came(episode: Episode) -> None:
    entities = [
        Entity(id=1, side=SIDE_PLAYER, x=0, y=0, health=10, max_health=40),
        Entity(id=2, side=SIDE_BOSS, x=7, y=5, health=25, max_health=25),
        Entity(id=3, side=SIDE_BOSS, x=3, y=3, health=0, max_health=25),
    ]
    tick = TickInput(width=8, height=6, entities=entities, controls=[Control(entity=1)])
    step = replace(episode.ticks[0], input=tick.SerializeToString())
    picture = arena(Frame(episode, step, 0))
    assert at(picture, 18, 18) == BLUE
    assert at(picture, 7 * 36 + 18, 5 * 36 + 18) == RED
    assert at(picture, 3 * 36 + 18, 3 * 36 + 18) == PAPER
    stopped = replace(step, event="stop", input=StopInput(last=tick).SerializeToString())
    np.testing.assert_array_equal(arena(Frame(episode, stopped, 0)), picture)
    nothing = replace(step, input=None)
    assert arena(Frame(episode, nothing, 0)).shape == (217, 289, 3)  # type: ignore[union-attr]
