import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.models.batching import BatchLimits, sized
from app.models.engine import Answer
from app.models.question import Leaves
from app.types import Version


class Engine:
    """Doubles what it is asked, and remembers the sizes of its batches."""

    def __init__(self) -> None:
        self.batches: list[list[float]] = []

    def forward(self, inputs: Leaves, states: Leaves, version: Version | None) -> Answer:
        self.batches.append([float(x) for x in np.asarray(inputs[0], np.float32)])
        return Answer([inputs[0] * 2], [leaf + 1 for leaf in states], version or Version(1, 1))


def rows(count: int) -> Leaves:
    return [np.arange(count, dtype=np.float32)]


@pytest.mark.parametrize(
    ("asked", "batches"),
    [
        (1, [[0]]),
        (2, [[0, 1, 1, 1]]),
        (4, [[0, 1, 2, 3]]),
        (6, [[0, 1, 2, 3, 4, 5, 5, 5]]),
        (11, [[0, 1, 2, 3, 4, 5, 6, 7], [8, 9, 10, 10]]),
    ],
)
def test_a_batch_is_padded_to_the_next_size_with_its_last_row_and_cut_in_parts(
    asked: int, batches: list[list[float]]
) -> None:
    engine = Engine()
    answer = sized(engine.forward, BatchLimits(max_rows=8, pad_to=(1, 4, 8)))(rows(asked), rows(asked), Version(1, 3))
    assert engine.batches == batches
    np.testing.assert_array_equal(answer.outputs[0], rows(asked)[0] * 2)
    np.testing.assert_array_equal(answer.states[0], rows(asked)[0] + 1)
    assert answer.version == Version(1, 3)


@given(
    count=st.integers(1, 70),
    max_rows=st.integers(1, 40),
    sizes=st.sets(st.integers(1, 40), max_size=4).map(lambda found: tuple(sorted(found))),
)
def test_sizes_change_no_answer(count: int, max_rows: int, sizes: tuple[int, ...]) -> None:
    engine = Engine()
    answer = sized(engine.forward, BatchLimits(max_rows=max_rows, pad_to=sizes))(rows(count), [], None)
    np.testing.assert_array_equal(answer.outputs[0], rows(count)[0] * 2)
    for batch in engine.batches:
        assert len(batch) in sizes or (len(batch) <= max_rows and all(len(batch) > size for size in sizes))
