import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from app.checks.cutting import filled, real_rows, without
from app.replay.rows import empty_batch
from app.types import RowKind, Rows
from tests.checks.rows import SPEC, rows_of

STEP, FULL, TERMINATED, LOST = RowKind.STEP, RowKind.FULL, RowKind.TERMINATED, RowKind.LOST


def cut(rows: Rows, states: tuple[int, ...] = (), steps: tuple[int, ...] = ()) -> Rows:
    spoilt_states, spoilt_steps = np.zeros(len(rows["kind"]), np.bool_), np.zeros(len(rows["kind"]), np.bool_)
    spoilt_states[list(states)] = spoilt_steps[list(steps)] = True
    return without(rows, spoilt_states, spoilt_steps)


def test_a_spoilt_step_ends_one_trajectory_in_its_state_and_another_begins_behind_it() -> None:
    left = cut(rows_of((5, FULL)), steps=(2,))
    assert left["kind"].tolist() == [STEP, STEP, LOST, STEP, STEP, FULL]
    assert left["tick"].tolist() == [0, 1, 2, 3, 4, 5]
    assert left["weight"].tolist() == [1, 1, 0, 1, 1, 0]
    assert left["reward"].tolist() == [0, 1, 0, 3, 4, 0]
    assert left["value"][2] == left["log_prob"][2] == 0
    assert left["action"].tolist() == [0, 1, 1, 0, 1, 2]
    assert left["observation"][2].tolist() == [4, 5]


def test_where_the_state_is_spoilt_the_step_before_is_lost_too_for_it_has_led_nowhere_known() -> None:
    left = cut(rows_of((5, FULL)), states=(3,))
    assert left["kind"].tolist() == [STEP, STEP, LOST, STEP, FULL]
    assert left["tick"].tolist() == [0, 1, 2, 4, 5]


def test_a_spoilt_last_state_costs_the_step_that_led_to_it_unless_the_game_was_over() -> None:
    unknown = cut(rows_of((3, FULL)), states=(3,))
    assert unknown["kind"].tolist() == [STEP, STEP, LOST]
    assert unknown["tick"].tolist() == [0, 1, 2]
    over = cut(rows_of((3, TERMINATED)), states=(3,))
    assert over["kind"].tolist() == [STEP, STEP, STEP, TERMINATED]
    assert over["observation"][3].tolist() == over["observation"][2].tolist()
    assert over["reward"].tolist() == [0, 1, 2, 0]


def test_the_first_step_leaves_nothing_before_it_and_a_piece_without_a_step_goes() -> None:
    assert cut(rows_of((3, FULL)), steps=(0,))["tick"].tolist() == [1, 2, 3]
    assert cut(rows_of((1, FULL), (1, FULL)), steps=(0,))["episode"].tolist() == [1, 1]
    assert len(cut(rows_of((2, FULL)), steps=(0, 1))["kind"]) == 0


def test_rows_that_are_given_stay_as_they_are() -> None:
    rows = rows_of((4, FULL))
    before = {name: column.copy() for name, column in rows.items()}
    cut(rows, states=(1,), steps=(3,))
    assert all((rows[name] == before[name]).all() for name in rows)


def test_what_is_missing_of_a_batch_is_nothing_to_learn_from() -> None:
    left = cut(rows_of((5, FULL)), steps=(4,))
    batch = filled(left, 9, SPEC)
    assert batch["kind"].tolist() == [STEP] * 4 + [LOST] * 5
    assert batch["weight"].tolist() == [1] * 4 + [0] * 5
    assert real_rows(batch["kind"]).tolist() == [True] * 5 + [False] * 4
    assert filled(empty_batch(SPEC, 2), 2, SPEC)["kind"].tolist() == [LOST, LOST]


@given(
    st.lists(
        st.tuples(st.integers(1, 6), st.sampled_from([FULL, TERMINATED, RowKind.TRUNCATED])), min_size=1, max_size=4
    ),
    st.data(),
)
def test_what_is_left_never_spans_a_hole_and_loses_no_more_than_the_holes_and_their_edges(
    shapes: list[tuple[int, RowKind]], data: st.DataObject
) -> None:
    rows = rows_of(*shapes)
    size = len(rows["kind"])
    step = rows["kind"] == STEP
    states = np.array(data.draw(st.lists(st.booleans(), min_size=size, max_size=size)))
    steps = np.array(data.draw(st.lists(st.booleans(), min_size=size, max_size=size))) & step
    left = without(rows, states, steps)
    where = {(int(e), int(t)): at for at, (e, t) in enumerate(zip(rows["episode"], rows["tick"], strict=True))}
    at = [where[int(e), int(t)] for e, t in zip(left["episode"], left["tick"], strict=True)]
    assert at == sorted(set(at))
    for place, kind in zip(at, left["kind"], strict=True):
        if kind == STEP:
            assert not states[place]
            assert not steps[place]
        elif not step[place] and rows["kind"][place] == TERMINATED:
            assert kind == TERMINATED
        else:
            assert not states[place]
    follow = zip(zip(at, left["kind"], strict=True), at[1:], strict=False)
    assert all(after == before + 1 for (before, kind), after in follow if kind == STEP)
    if at:
        assert left["kind"][-1] != STEP
    lost = int(step.sum()) - int((left["kind"] == STEP).sum())
    assert lost <= int((steps | (states & step)).sum()) + int(states.sum())
