import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.models.engine import Answer, RowFailure
from app.models.question import Leaves
from app.models.splitting import ATTEMPTS_MAX, forgiving
from app.types import Version


class Network:
    """Doubles; refuses batches that hold one of the bad numbers."""

    def __init__(self, bad: set[int]) -> None:
        self._bad = bad
        self.asked: list[int] = []

    def forward(self, inputs: Leaves, states: Leaves, version: Version | None) -> Answer:
        self.asked.append(len(inputs[0]))
        wrong = sorted(self._bad & set(inputs[0].tolist()))
        if wrong:
            raise IndexError(f"no {wrong[0]} here")
        return Answer([inputs[0] * 2], [states[0] + 1], Version(1, 1))


def asked(network: Network, rows: int) -> Answer:
    numbers = np.arange(rows)
    return forgiving(network.forward)([numbers], [numbers[:, None]], None)


@given(rows=st.integers(2, 32), data=st.data())
def test_each_row_of_32_is_answered_or_told_its_own_error(rows: int, data: st.DataObject) -> None:
    bad = data.draw(st.sets(st.integers(0, rows - 1), max_size=rows - 1))
    answer = asked(Network(bad), rows)
    assert answer.failures == tuple(RowFailure(row, f"IndexError: no {row} here") for row in sorted(bad))
    good = sorted(set(range(rows)) - bad)
    assert answer.outputs[0][good].tolist() == [2 * row for row in good]
    assert answer.states[0][good].tolist() == [[row + 1] for row in good]
    assert answer.version == Version(1, 1)


def test_one_bad_row_of_1024_costs_twenty_more_calls_and_two_more_batches() -> None:
    network = Network({700})
    assert [failure.row for failure in asked(network, 1024).failures] == [700]
    assert len(network.asked) == 21
    assert sum(network.asked) < 3 * 1024


def test_a_batch_without_a_failure_is_asked_once_and_as_it_is() -> None:
    network = Network(set())
    assert asked(network, 9).failures == ()
    assert network.asked == [9]


def test_what_fails_on_every_row_raises_its_first_error_after_bounded_work() -> None:
    network = Network(set(range(1024)))
    with pytest.raises(IndexError, match="no 0 here"):
        asked(network, 1024)
    assert len(network.asked) <= ATTEMPTS_MAX + 2
    assert sum(network.asked) <= 8 * 1024


def test_where_too_many_fail_the_parts_that_were_left_are_told_as_a_whole() -> None:
    answer = asked(Network(set(range(0, 512, 2))), 1024)
    assert set(range(512)) >= {failure.row for failure in answer.failures} >= set(range(0, 512, 2))
    assert answer.outputs[0][512:].tolist() == [2 * row for row in range(512, 1024)]


def test_one_row_that_fails_raises_its_error() -> None:
    network = Network({0})
    with pytest.raises(IndexError):
        asked(network, 1)
    assert network.asked == [1]
