import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from app.errors import CheckpointError
from app.replay.held import Held


def test_a_full_ring_takes_the_slots_that_were_freed_in_their_order() -> None:
    held = Held(4)
    assert held.add(np.zeros(4)).tolist() == [0, 1, 2, 3]
    held.remove(held.oldest(2))
    assert held.free == 2
    assert held.add(np.zeros(2)).tolist() == [0, 1]
    assert held.oldest(9).tolist() == [2, 3, 0, 1]
    assert held.newest(3).tolist() == [1, 0, 3]
    assert held.numbers.tolist() == [4, 5, 2, 3]
    assert held.mean_age_inserts() == 5 - 3.5


def test_without_rows_there_is_no_age() -> None:
    assert np.isnan(Held(4).mean_age_inserts())


def test_slots_of_another_capacity_are_not_taken_over() -> None:
    with pytest.raises(CheckpointError, match="a table of 4 rows cannot take over one of 5 rows"):
        Held(4).load_state_dict(Held(5).state_dict())


def test_a_table_without_slots_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1 slot, got 0"):
        Held(0)


class HeldMachine(RuleBasedStateMachine):
    """Slots against a dict from the number of a row to its slot, in the order of arrival."""

    @initialize(capacity=st.integers(1, 12))
    def begin(self, capacity: int) -> None:
        self.held, self.rows, self.inserted = Held(capacity), dict[int, int](), 0

    @rule(count=st.integers(0, 12))
    def add(self, count: int) -> None:
        slots = self.held.add(np.zeros(min(count, self.held.free))).tolist()
        assert not set(slots) & set(self.rows.values())
        self.rows |= {self.inserted + at: slot for at, slot in enumerate(slots)}
        self.inserted += len(slots)

    @precondition(lambda self: self.rows)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        numbers = data.draw(st.lists(st.sampled_from(list(self.rows)), unique=True))
        self.held.remove(np.array([self.rows.pop(number) for number in numbers], np.intp))

    @rule(count=st.integers(0, 14))
    def look(self, count: int) -> None:
        slots = list(self.rows.values())
        assert self.held.oldest(count).tolist() == slots[:count]
        assert self.held.newest(count).tolist() == slots[::-1][:count]

    @rule()
    def restore(self) -> None:
        other = Held(self.held.capacity_rows)
        other.load_state_dict(self.held.state_dict())
        self.held = other

    @invariant()
    def the_same_rows_are_held(self) -> None:
        held = self.held
        assert len(held) + held.free == held.capacity_rows
        assert sorted(held.slots.tolist()) == sorted(self.rows.values())
        numbers = {number: int(slot) for slot, number in enumerate(held.numbers.tolist()) if number >= 0}
        assert numbers == self.rows
        if self.rows:
            assert held.mean_age_inserts() == pytest.approx(self.inserted - 1 - sum(self.rows) / len(self.rows))


TestHeld = HeldMachine.TestCase
