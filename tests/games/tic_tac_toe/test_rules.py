"""Tic-tac-toe's rules: lines, ends, and how a position is seen."""

import numpy as np
import pytest

from app.games.tic_tac_toe.rules import LINES, Position


def after(*places: int) -> Position:
    position = Position.first()
    for place in places:
        position = position.play(place)
    return position


@pytest.mark.parametrize("line", LINES)
def test_three_in_a_line_end_the_game_for_the_other(line: tuple[int, int, int]) -> None:
    others = [place for place in range(9) if place not in line]
    position = after(line[0], others[0], line[1], others[1])
    assert not position.over
    end = position.play(line[2])
    assert (end.lost, end.over, end.outcome, end.legal.any()) == (True, True, -1.0, False)
    with pytest.raises(ValueError, match="the game is over"):
        end.play(others[2])


def test_a_full_board_without_a_line_is_a_draw() -> None:
    drawn = after(0, 1, 2, 4, 3, 5, 7, 6, 8)
    assert (drawn.lost, drawn.over, drawn.outcome) == (False, True, 0.0)


def test_the_last_place_may_win() -> None:
    assert after(0, 1, 2, 5, 3, 7, 4, 6, 8).lost


def test_a_place_is_taken_once() -> None:
    with pytest.raises(ValueError, match="place is 4; allowed are 0, 1, 2, 3, 5, 6, 7, 8"):
        after(4, 4)
    for place in (-1, 9):
        with pytest.raises(ValueError, match="place is"):
            after(place)


def test_who_moves_sees_its_own_marks_first() -> None:
    planes = after(0, 8).planes()
    assert (planes[0, 0, 0], planes[1, 2, 2], planes.sum()) == (1, 1, 2)
    np.testing.assert_array_equal(after(0, 8).swapped().planes(), planes[::-1])


def test_planes_lead_back_to_their_position() -> None:
    for position in (Position.first(), after(4), after(4, 0, 8)):
        assert Position.of_planes(position.planes()) == position
    for planes in (np.ones((2, 3, 3)), np.full((2, 3, 3), 0.5), np.zeros((3, 3))):
        with pytest.raises(ValueError, match="allowed"):
            Position.of_planes(planes)
