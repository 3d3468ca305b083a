import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.agents.unroll import Row, Step, Unroll, everything_like
from app.models.question import Decision
from app.types import RowKind, Version

EPISODE = 77
CUTS = [RowKind.FULL, RowKind.TERMINATED, RowKind.TRUNCATED, RowKind.LOST]


def observation(t: int) -> np.ndarray:
    return np.array([t, -t], np.float32)


def step(t: int, version: Version = Version(1, 5)) -> Step:  # noqa: B008  # A value.
    return Step(observation(t), np.array([True, t % 2 == 0]), Decision(t % 2, -0.1 * t, 10.0 * t, version))


class Game:
    """Plays an unroll: tick t shows observation t and pays the action of tick t - 1 with 100 + t."""

    def __init__(self, ticks: int | None = None) -> None:
        self.emitted: list[list[Row]] = []
        self.unroll = Unroll(EPISODE, ticks, self.emitted.append)
        self.t = 0

    def play(self, ticks: int, version: Version = Version(1, 5)) -> "Game":  # noqa: B008  # A value.
        for _ in range(ticks):
            self.unroll.reward(100.0 + self.t)
            self.unroll.reached(observation(self.t))
            self.unroll.decided(step(self.t, version))
            self.t += 1
        return self

    def stop(self, kind: RowKind, *, final: bool = True) -> "Game":
        self.unroll.reward(100.0 + self.t)
        self.unroll.cut(kind, observation(self.t) if final else None)
        return self


def seen(rows: list[Row]) -> list[int]:
    return [int(row.observation[0]) for row in rows]


def test_every_reward_stands_beside_the_action_that_earned_it() -> None:
    (rows,) = Game().play(3).stop(RowKind.TERMINATED).emitted
    assert seen(rows) == [0, 1, 2, 3]
    assert [row.reward for row in rows] == [101, 102, 103, 0]
    assert [row.action for row in rows] == [0, 1, 0, 0]
    assert [row.log_prob for row in rows] == pytest.approx([0, -0.1, -0.2, 0])
    assert [row.value for row in rows] == [0, 10, 20, 0]
    assert [row.action_mask.tolist() for row in rows[:3]] == [[True, True], [True, False], [True, True]]


def test_steps_count_and_the_bootstrap_row_does_not() -> None:
    (rows,) = Game().play(2).stop(RowKind.TERMINATED).emitted
    assert [row.kind for row in rows] == [RowKind.STEP, RowKind.STEP, RowKind.TERMINATED]
    assert [row.weight for row in rows] == [1, 1, 0]
    assert [(row.generation, row.version) for row in rows] == [(1, 5)] * 3
    assert [(row.episode, row.tick) for row in rows] == [(EPISODE, 0), (EPISODE, 1), (EPISODE, 2)]
    assert rows[-1].action_mask.any()


@pytest.mark.parametrize("kind", CUTS)
def test_an_end_is_told_by_its_bootstrap_row(kind: RowKind) -> None:
    (rows,) = Game().play(2).stop(kind).emitted
    assert rows[-1].kind == kind
    assert seen(rows) == [0, 1, 2]


def test_a_full_trajectory_leaves_when_the_next_observation_is_there_and_not_before() -> None:
    game = Game(ticks=3).play(3)
    assert game.emitted == []
    game.play(1)
    (rows,) = game.emitted
    assert seen(rows) == [0, 1, 2, 3]
    assert rows[-1].kind == RowKind.FULL
    assert [row.reward for row in rows[:3]] == [101, 102, 103]


def test_the_state_where_a_trajectory_was_cut_opens_the_next() -> None:
    first, second, third = Game(ticks=2).play(5).stop(RowKind.TERMINATED).emitted
    assert [seen(first), seen(second), seen(third)] == [[0, 1, 2], [2, 3, 4], [4, 5]]
    assert [row.tick for row in (*first, *second, *third)] == [0, 1, 2, 2, 3, 4, 4, 5]
    assert [row.reward for row in second[:2]] == [103, 104]


def test_a_game_that_ends_with_a_full_trajectory_leaves_no_empty_one() -> None:
    (rows,) = Game(ticks=2).play(2).stop(RowKind.TERMINATED).emitted
    assert [row.kind for row in rows] == [RowKind.STEP, RowKind.STEP, RowKind.TERMINATED]


def test_without_a_length_a_game_is_one_trajectory() -> None:
    (rows,) = Game(ticks=None).play(500).stop(RowKind.TRUNCATED).emitted
    assert len(rows) == 501


def test_a_game_that_nobody_ended_bootstraps_from_its_last_state_and_drops_the_row_acted_in_it() -> None:
    game = Game().play(4)
    game.unroll.cut(RowKind.TRUNCATED, None)  # The reward of tick 3 never came.
    (rows,) = game.emitted
    assert seen(rows) == [0, 1, 2, 3]
    assert [row.kind for row in rows] == [RowKind.STEP] * 3 + [RowKind.TRUNCATED]
    assert [row.reward for row in rows[:3]] == [101, 102, 103]
    assert [row.tick for row in rows] == [0, 1, 2, 3]


def test_a_truncation_without_a_final_observation_drops_the_last_row() -> None:
    (rows,) = Game().play(4).stop(RowKind.TRUNCATED, final=False).emitted
    assert seen(rows) == [0, 1, 2, 3]
    assert [row.kind for row in rows] == [RowKind.STEP] * 3 + [RowKind.TRUNCATED]
    assert [row.tick for row in rows] == [0, 1, 2, 3]


def test_a_termination_without_a_final_observation_loses_nothing() -> None:
    (rows,) = Game().play(3).stop(RowKind.TERMINATED, final=False).emitted
    assert [row.reward for row in rows] == [101, 102, 103, 0]
    assert [row.weight for row in rows] == [1, 1, 1, 0]


@pytest.mark.parametrize("kind", CUTS)
def test_a_game_without_a_completed_row_leaves_nothing(kind: RowKind) -> None:
    game = Game()
    game.unroll.cut(kind, observation(0))
    game.unroll.cut(kind, None)
    game.play(1)
    game.unroll.cut(kind, None)
    assert game.emitted == []


def test_one_row_and_no_state_behind_it_is_nothing_to_learn_from() -> None:
    assert Game().play(1).stop(RowKind.TRUNCATED, final=False).emitted == []


def test_what_the_untrained_model_played_is_not_recorded() -> None:
    game = Game().play(2, Version(0, 0)).play(2, Version(1, 0)).stop(RowKind.TERMINATED)
    (rows,) = game.emitted
    assert seen(rows) == [2, 3, 4]
    assert [row.tick for row in rows] == [2, 3, 4]
    assert [row.version for row in rows] == [0, 0, 0]
    assert Game().play(3, Version(0, 0)).stop(RowKind.TERMINATED).emitted == []


def test_each_row_names_the_weights_that_acted() -> None:
    (rows,) = Game().play(1, Version(1, 5)).play(1, Version(1, 6)).stop(RowKind.FULL).emitted
    assert [row.version for row in rows] == [5, 6, 6]


def test_a_reward_without_an_action_is_nobodys() -> None:
    game = Game()
    game.unroll.reward(9.0)
    (rows,) = game.play(1).stop(RowKind.TERMINATED).emitted
    assert [row.reward for row in rows] == [101, 0]


def test_after_a_cut_the_game_goes_on_in_a_new_trajectory() -> None:
    game = Game().play(2)
    game.unroll.reward(102.0)
    game.unroll.cut(RowKind.LOST, observation(2))
    game.t = 3
    first, second = game.play(2).stop(RowKind.TERMINATED).emitted
    assert (seen(first), seen(second)) == ([0, 1, 2], [3, 4, 5])
    assert second[0].reward == 104


@given(st.integers(1, 5) | st.none(), st.integers(0, 20), st.sampled_from(CUTS))
def test_every_tick_is_one_row_that_counts(ticks: int | None, length: int, kind: RowKind) -> None:
    emitted = Game(ticks).play(length).stop(kind).emitted
    steps = [row for rows in emitted for row in rows if row.kind == RowKind.STEP]
    assert [row.tick for row in steps] == list(range(length))
    assert [row.reward for row in steps] == [101.0 + t for t in range(length)]
    assert all(rows[-1].kind != RowKind.STEP and len(rows) >= 2 for rows in emitted)
    assert all(len(rows) == ticks + 1 for rows in emitted[:-1] if ticks is not None)


def masks_at_the_end(emitted: list[list[Row]]) -> list[list[bool]]:
    return [rows[-1].action_mask.tolist() for rows in emitted]


def test_a_bootstrap_row_holds_what_was_allowed_in_the_state_that_was_reached() -> None:
    game = Game(ticks=2)
    game.play(2)
    game.unroll.reward(1.0)
    game.unroll.reached(observation(2), np.array([False, True]))
    game.unroll.decided(step(2))
    game.unroll.reward(1.0)
    game.unroll.cut(RowKind.TRUNCATED, observation(3), np.array([True, False]))
    assert masks_at_the_end(game.emitted) == [[False, True], [True, False]]


def test_everything_is_allowed_in_a_state_whose_mask_never_came() -> None:
    game = Game()
    game.play(2)  # In the last row acted, one choice alone was allowed.
    game.unroll.reward(1.0)
    game.unroll.cut(RowKind.TRUNCATED, observation(2))
    assert masks_at_the_end(game.emitted) == [[True, True]]


def test_the_mask_of_a_state_that_was_acted_in_goes_with_it_into_the_bootstrap_row() -> None:
    game = Game().play(4)
    game.unroll.cut(RowKind.LOST, None)  # The reward of tick 3 never came.
    assert seen(game.emitted[0])[-1] == 3
    assert masks_at_the_end(game.emitted) == [[True, False]]


def test_nested_masks_are_allowed_leaf_by_leaf() -> None:
    mask = {"go": None, "pick": (np.array([True, False]), np.array([False, True, True]))}
    allowed = everything_like(mask)
    assert allowed["go"] is None
    assert [leaf.tolist() for leaf in allowed["pick"]] == [[True] * 2, [True] * 3]
