"""Connect four's rules: drops, lines, ends."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.games.connect_four.rules import COLUMNS, ROWS, Position


def after(*columns: int) -> Position:
    position = Position.first()
    for column in columns:
        position = position.play(column)
    return position


@pytest.mark.parametrize(
    "moves",
    [
        (0, 6, 1, 6, 2, 6, 3),  # Along the ground.
        (0, 6, 2, 6, 3, 6, 1),  # Its gap filled last.
        (4, 6, 4, 6, 4, 5, 4),  # Upwards.
        (0, 1, 1, 2, 2, 3, 2, 3, 3, 5, 3),  # Rising to the right.
        (3, 2, 2, 1, 1, 0, 1, 0, 0, 5, 0),  # Rising to the left.
    ],
)
def test_four_in_a_line_end_the_game_for_the_other(moves: tuple[int, ...]) -> None:
    assert not after(*moves[:-1]).over
    end = after(*moves)
    assert end.lost
    assert end.over
    assert not end.legal.any()
    with pytest.raises(ValueError, match="the game is over"):
        end.play(5)


def test_three_and_a_line_around_the_edge_are_none() -> None:
    assert not after(0, 0, 1, 1, 2, 2).over
    assert not after(4, 0, 5, 1, 6, 2).over  # Columns 4, 5, 6, and 0 on the other side belong to different players.
    assert not after(5, 5, 6, 6, 0, 1, 1, 3).over


def test_a_full_column_takes_no_stone() -> None:
    position = after(3, 3, 3, 3, 3, 3)
    assert position.legal.tolist() == [True, True, True, False, True, True, True]
    with pytest.raises(ValueError, match="column is 3; allowed are 0, 1, 2, 4, 5, 6"):
        position.play(3)
    with pytest.raises(ValueError, match="column is 7"):
        position.play(7)


def test_who_moves_sees_its_own_stones_first() -> None:
    first, second = after(3).planes(), after(3, 3).planes()
    assert (first[0].sum(), first[1, 0, 3]) == (0, 1)
    assert (second[0, 0, 3], second[1, 1, 3]) == (1, 1)
    assert second.dtype == np.float32


@given(st.lists(st.integers(0, COLUMNS - 1), max_size=60))
def test_any_game_stays_within_the_rules(columns: list[int]) -> None:
    position, played = Position.first(), 0
    for column in columns:
        if position.over or not position.legal[column]:
            continue
        before = position.stones.copy()
        following = position.play(column)
        assert (position.stones == before).all()  # A position is a value.
        position, played = following, played + 1
    stones = position.stones
    assert int((stones != 0).sum()) == played <= ROWS * COLUMNS
    assert int((stones == 1).sum()) == played // 2
    filled = stones != 0
    assert (np.diff(filled.astype(int), axis=0) <= 0).all()  # No stone hangs in the air.
    assert position.lost == (_line_of(stones, -1))
    assert not _line_of(stones, 1)


def _line_of(stones: np.ndarray, player: int) -> bool:
    """Looks at every window of four, where the rules look at the newest stone alone."""
    mine = stones == player
    for row in range(ROWS):
        for column in range(COLUMNS):
            for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
                places = [(row + i * down, column + i * right) for i in range(4)]
                if all(0 <= y < ROWS and 0 <= x < COLUMNS and mine[y, x] for y, x in places):
                    return True
    return False


def test_planes_lead_back_to_their_position() -> None:
    for position in (Position.first(), after(3), after(3, 3, 2, 0)):
        for dtype in (np.float32, np.uint8, bool):
            shown = Position.of_planes(position.planes().astype(dtype))
            np.testing.assert_array_equal(shown.stones, position.stones)
            assert shown.stones.dtype == np.int8


def test_planes_that_no_game_shows_are_refused() -> None:
    floating, doubled = np.zeros((2, ROWS, COLUMNS)), np.zeros((2, ROWS, COLUMNS))
    floating[0, 1, 0] = 1
    doubled[:, 0, 0] = 1
    for planes in (floating, doubled):
        with pytest.raises(ValueError, match="hangs in the air"):
            Position.of_planes(planes)
    for planes in (np.full((2, ROWS, COLUMNS), 0.5), np.zeros((2, COLUMNS, ROWS)), np.zeros(3)):
        with pytest.raises(ValueError, match="allowed are 0 and 1"):
            Position.of_planes(planes)


def test_an_end_is_worth_a_loss_or_a_draw_to_whoever_would_move() -> None:
    assert after(0, 6, 1, 6, 2, 6, 3).outcome == -1
    drawn = after(*[c for pair in ((0, 1), (2, 3), (4, 5)) for c in (*(pair * 3), *(pair[::-1] * 3))], *[6] * 6)
    assert drawn.over
    assert drawn.outcome == 0
