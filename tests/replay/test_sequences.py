from itertools import count

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.replay.sequences import Sequences
from app.types import RowKind, Rows
from tests.replay.rows import columns_of, joined, trajectory

STEP, FULL, TERMINATED, TRUNCATED, LOST = RowKind


def numbers_of(sequences: Rows) -> list[list[int]]:
    return [[int(number) for number in row] for row in sequences["action"]]


def test_a_trajectory_is_cut_by_hand() -> None:
    # Rows 0 … 6 are steps, 7 is the bootstrap row; every 3 rows a sequence of 5 begins.
    got = Sequences(5, 2, 1, burn_in_at_start=True).cut(trajectory(count(), [0] * 7, TERMINATED))
    assert numbers_of(got) == [[0, 1, 2, 3, 4], [3, 4, 5, 6, 7]]
    assert got["kind"].tolist() == [[STEP] * 4 + [FULL], [STEP] * 4 + [TERMINATED]]
    assert got["weight"].tolist() == [[0, 1, 1, 1, 0], [0, 1, 1, 1, 0]]
    assert got["state/0"].tolist() == [[0], [30]]


def test_what_a_short_trajectory_lacks_is_padded_with_nothing_to_learn_from() -> None:
    got = Sequences(5, 2, 1, burn_in_at_start=True).cut(trajectory(count(), [0] * 2, TRUNCATED))
    assert numbers_of(got) == [[0, 1, 2, 2, 2]]
    assert got["kind"].tolist() == [[STEP, STEP, TRUNCATED, LOST, LOST]]
    assert got["weight"].tolist() == [[0, 1, 0, 0, 0]]
    assert got["action_mask"][:, :, 0].all()  # A row without a legal action would have no probabilities.


def test_the_first_sequence_of_an_episode_needs_no_burn_in() -> None:
    cut = Sequences(5, 3, 2, burn_in_at_start=False)
    begun = cut.cut(trajectory(count(), [0] * 5, FULL))
    assert begun["weight"].tolist() == [[1, 1, 1, 1, 0], [0, 0, 1, 0, 0]]
    went_on = cut.cut(trajectory(count(), [0] * 5, FULL, first_tick=32))
    assert went_on["weight"].tolist() == [[0, 0, 1, 1, 0], [0, 0, 1, 0, 0]]


def test_the_columns_are_those_that_are_announced() -> None:
    rows, sequences = trajectory(count(), [0] * 9, FULL), Sequences(4, 1, 0, burn_in_at_start=True)
    columns = sequences.columns(columns_of(rows))
    assert columns_of(sequences.cut(rows)) == columns
    assert columns["observation/units"] == (np.dtype(np.float32), (4, 2))
    assert columns["state/0"] == (np.dtype(np.float32), (1,))


def test_rows_without_a_step_make_no_sequence_and_a_step_at_the_end_is_refused() -> None:
    sequences, rows = Sequences(4, 1, 0, burn_in_at_start=True), trajectory(count(), [0] * 2, FULL)
    assert len(sequences.cut(trajectory(count(), [], LOST))["reward"]) == 0
    assert len(sequences.cut({name: column[:0] for name, column in rows.items()})["reward"]) == 0
    with pytest.raises(ValueError, match="the last row is a step"):
        sequences.cut({name: column[:2] for name, column in rows.items()})


@pytest.mark.parametrize(("rows", "overlap", "burn_in"), [(4, 4, 0), (4, 0, 0), (4, 2, 2), (4, 1, -1)])
def test_cuts_that_would_lose_steps_are_refused(rows: int, overlap: int, burn_in: int) -> None:
    with pytest.raises(ValueError, match=f"got {burn_in}, {overlap} and {rows}"):
        Sequences(rows, overlap, burn_in, burn_in_at_start=True)


@st.composite
def cuts(draw: st.DrawFn) -> Sequences:
    rows = draw(st.integers(2, 9))
    overlap = draw(st.integers(1, rows - 1))
    return Sequences(rows, overlap, draw(st.integers(0, overlap - 1)), burn_in_at_start=draw(st.booleans()))


trajectories = st.lists(
    st.tuples(st.integers(0, 20), st.sampled_from([FULL, TERMINATED, TRUNCATED, LOST]), st.sampled_from([0, 16])),
    min_size=1,
    max_size=4,
)


@given(cuts(), trajectories)
def test_every_step_behind_the_first_burn_in_is_learned_from_in_its_trajectory_alone(
    sequences: Sequences, batch: list[tuple[int, RowKind, int]]
) -> None:
    numbers = count()
    parts = [
        trajectory(numbers, [0] * steps, end, episode=at, first_tick=tick)
        for at, (steps, end, tick) in enumerate(batch)
    ]
    got = sequences.cut(joined(*parts))
    learned = [int(number) for number in got["action"][got["weight"] > 0]]
    for at, part in enumerate(parts):
        mine = got["episode"][:, 0] == at
        assert (got["episode"][mine] == at).all()  # No sequence mixes two trajectories.
        burn_in = sequences.burn_in_rows if sequences.burn_in_at_start or batch[at][2] else 0
        steps = part["action"][:-1].tolist()
        counts = [learned.count(step) for step in steps]
        assert counts[:burn_in] == [0] * len(counts[:burn_in])
        assert all(number >= 1 for number in counts[burn_in:])
        if sequences.overlap_rows == sequences.burn_in_rows + 1:
            assert all(number == 1 for number in counts[burn_in:])
        if steps:
            assert got["kind"][mine][-1].tolist().count(batch[at][1]) >= 1
    assert not (got["weight"][:, -1] > 0).any()
    assert (got["kind"][:, -1] != STEP).all()
    assert (got["weight"][got["kind"] != STEP] == 0).all()
    ticks = np.diff(got["tick"], axis=1)
    padded = got["kind"][:, 1:] == LOST
    assert ((ticks == 1) | padded).all()
    assert (got["state/0"][:, 0] == got["action"][:, 0] * 10).all()
