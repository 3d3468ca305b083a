"""The perfect player of tic-tac-toe: known values, and that nobody beats it."""

import numpy as np
import pytest

from app.errors import BadPayloadError
from app.games.tic_tac_toe.perfect import PerfectPlayer, best_places, value
from app.games.tic_tac_toe.rules import Position
from tests.games.context import context


def after(*places: int) -> Position:
    position = Position.first()
    for place in places:
        position = position.play(place)
    return position


def test_the_game_is_a_draw_and_every_first_move_keeps_it() -> None:
    assert value(Position.first()) == 0
    assert best_places(Position.first()) == tuple(range(9))


def test_a_corner_is_answered_in_the_middle_alone_and_the_middle_in_a_corner() -> None:
    assert best_places(after(0)) == (4,)
    assert best_places(after(4)) == (0, 2, 6, 8)


def test_a_win_is_taken_and_a_fork_is_lost() -> None:
    assert value(after(0, 3, 1, 4)) == 1
    assert best_places(after(0, 3, 1, 4)) == (2,)
    assert value(after(0, 1, 4)) == -1  # The other threatens 8, and has two more lines behind it.
    assert best_places(after(0, 3, 1, 4, 2)) == ()


def loses_somewhere(position: Position, *, perfect_moves: bool) -> bool:
    """Returns whether the perfect player loses a game, whatever both do."""
    if position.over:
        return position.lost and perfect_moves
    places = best_places(position) if perfect_moves else np.flatnonzero(position.legal).tolist()
    return any(loses_somewhere(position.play(place), perfect_moves=not perfect_moves) for place in places)


@pytest.mark.parametrize("begins", [True, False])
def test_it_loses_no_game_against_any_play(begins: bool) -> None:
    assert not loses_somewhere(Position.first(), perfect_moves=begins)


async def test_the_agent_draws_among_the_best_moves() -> None:
    playing = PerfectPlayer(context())
    seen = {str(await playing.on_tick({"observation": after(4).planes().tolist()})) for _ in range(100)}
    assert seen == {str({"action": place}) for place in (0, 2, 6, 8)}


@pytest.mark.parametrize(
    "payload", [None, {"observation": [1]}, {"observation": after(0, 1, 2, 4, 3, 5, 7, 6, 8).planes()}]
)
async def test_what_shows_no_position_is_refused(payload: object) -> None:
    with pytest.raises(BadPayloadError, match="observation shows"):
        await PerfectPlayer(context()).on_tick(payload)  # type: ignore[arg-type]
