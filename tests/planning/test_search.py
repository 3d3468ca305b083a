"""What a search finds, how it counts, and what it refuses."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.games.connect_four.rules import COLUMNS, Position
from app.planning.game import Evaluation, uniform_evaluation
from app.planning.search import Search, SearchSettings, search
from tests.planning.nim import Nim


def after(*columns: int) -> Position:
    position = Position.first()
    for column in columns:
        position = position.play(column)
    return position


def test_three_simulations_by_hand() -> None:
    """Two matches are left: taking both wins at once, taking one loses to the other's answer."""

    def judge(positions: Sequence[Nim]) -> Evaluation:
        return Evaluation(np.tile([0.8, 0.2, 0.0], (len(positions), 1)), np.full(len(positions), 0.5))

    # N(s) = 1: 0.8 C > 0.2 C, so one is taken; Nim(1) is worth 0.5 to the other, -0.5 to us.
    one = search(Nim(2), judge, SearchSettings(1, batch=1))
    assert one.visits.tolist() == [1, 0, 0]
    assert one.value == pytest.approx((0.5 - 0.5) / 2)
    # N(s) = 2, C = 1.2502: -0.5 + 0.8 C sqrt(2) / 2 = 0.207 < 0.2 C sqrt(2) = 0.354, so both are taken, which wins.
    two = search(Nim(2), judge, SearchSettings(2, batch=1))
    assert two.visits.tolist() == [1, 1, 0]
    assert two.value == pytest.approx((0.5 - 0.5 + 1) / 3)
    # N(s) = 3: -0.5 + 0.8 C sqrt(3) / 2 = 0.366 < 1 + 0.2 C sqrt(3) / 2 = 1.217.
    three = search(Nim(2), judge, SearchSettings(3, batch=1))
    assert three.visits.tolist() == [1, 2, 0]
    assert three.value == pytest.approx((0.5 - 0.5 + 2) / 4)


@pytest.mark.parametrize("matches", [5, 6, 7])
@pytest.mark.parametrize("batch", [1, 8])
def test_the_perfect_move_of_nim_is_found(matches: int, batch: int) -> None:
    found = search(Nim(matches), uniform_evaluation, SearchSettings(200, batch))
    assert found.visits.argmax() == matches % 4 - 1  # It leaves the other a multiple of four.
    assert found.value > 0


def test_a_lost_position_is_seen_as_lost() -> None:
    assert search(Nim(4), uniform_evaluation, SearchSettings(200)).value < -0.8


@pytest.mark.parametrize("batch", [1, 8])
@pytest.mark.parametrize("noise", [None, 3])
@pytest.mark.parametrize(
    ("moves", "best"),
    [
        ((0, 6, 1, 6, 2, 6), 3),  # Wins in one along the ground, before the other does upwards.
        ((5, 0, 5, 1, 5, 0), 5),  # Wins in one upwards.
        ((0, 6, 1, 6, 3), 2),  # Blocks a gap.
        ((5, 0, 5, 1, 5), 5),  # Blocks a column.
    ],
)
def test_a_win_in_one_is_taken_and_one_of_the_other_is_blocked(
    moves: tuple[int, ...], best: int, batch: int, noise: int | None
) -> None:
    rng = None if noise is None else np.random.default_rng(noise)
    found = search(after(*moves), uniform_evaluation, SearchSettings(200, batch), rng)
    assert found.visits.argmax() == best


@given(st.lists(st.integers(0, COLUMNS - 1), max_size=41), st.integers(1, 40), st.integers(1, 9), st.integers(0, 2**32))
@settings(max_examples=30, deadline=None)
def test_all_visits_are_legal_and_add_up_and_no_loss_is_left(
    columns: list[int], simulations: int, batch: int, seed: int
) -> None:
    position = Position.first()
    for column in columns:
        if position.legal[column] and not position.play(column).over:
            position = position.play(column)
    asked: list[int] = []

    def judge(positions: Sequence[Position]) -> Evaluation:
        assert not any(one.over for one in positions)
        asked.append(len(positions))
        rng = np.random.default_rng(seed + len(asked))
        return Evaluation(rng.random((len(positions), COLUMNS)), rng.uniform(-1, 1, len(positions)))

    found = search(position, judge, SearchSettings(simulations, batch), np.random.default_rng(seed))
    assert found.visits.sum() == simulations
    assert not found.visits[~position.legal].any()
    assert -1 <= found.value <= 1
    assert asked[0] == 1
    assert max(asked) <= batch


def test_equal_seeds_search_alike_and_others_do_not() -> None:
    def visits(seed: int) -> list[float]:
        noise = np.random.default_rng(seed)
        return search(after(3, 3), uniform_evaluation, SearchSettings(60), noise).visits.tolist()

    assert visits(1) == visits(1)
    assert visits(1) != visits(2)


def test_a_batch_holds_different_leaves() -> None:
    searched = Search(after(), SearchSettings(50, batch=7))
    searched.take(uniform_evaluation(searched.leaves()))
    assert {int(one.stones[0].argmin()) for one in searched.leaves()} == set(range(COLUMNS))


def test_what_the_game_does_not_allow_is_never_tried_in_the_root() -> None:
    allowed = np.array([True, False, False])
    searched = Search(Nim(7), SearchSettings(30), allowed=allowed)
    while leaves := searched.leaves():
        searched.take(uniform_evaluation(leaves))
    assert searched.visits.tolist() == [30, 0, 0]


def test_a_position_without_an_allowed_action_is_refused() -> None:
    for refused in (lambda: Search(Nim(0), SearchSettings(1)), _nothing_allowed):
        with pytest.raises(ValueError, match="a legal action that is allowed"):
            refused()


def _nothing_allowed() -> Search[Nim]:
    return Search(Nim(1), SearchSettings(1), allowed=np.array([False, True, True]))


@pytest.mark.parametrize(
    ("priors", "values"),
    [
        (np.ones((2, 3)), np.zeros(2)),
        (np.ones((1, 2)), np.zeros(1)),
        (np.full((1, 3), np.nan), np.zeros(1)),
        (np.full((1, 3), -1.0), np.zeros(1)),
        (np.ones((1, 3)), np.full(1, np.inf)),
    ],
)
def test_an_evaluation_that_does_not_fit_is_refused(priors: np.ndarray, values: np.ndarray) -> None:
    searched = Search(Nim(5), SearchSettings(4))
    searched.leaves()
    with pytest.raises(ValueError, match="allowed are"):
        searched.take(Evaluation(priors, values))


def test_leaves_are_not_asked_for_twice() -> None:
    searched = Search(Nim(5), SearchSettings(4))
    searched.leaves()
    with pytest.raises(RuntimeError, match="1 leaves wait"):
        searched.leaves()


@pytest.mark.parametrize(
    "wrong",
    [{"simulations": 0}, {"batch": 0}, {"virtual_loss": 0}, {"noise_alpha": 0}, {"noise_share": 1.1}],
)
def test_settings_out_of_range_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"at least 1|above 0"):
        SearchSettings(**({"simulations": 8} | wrong))  # type: ignore[arg-type]
