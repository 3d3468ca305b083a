import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.replay.held import Held
from app.replay.removers import RemoveLowestPriority, RemoveOldest, RemoveUniform
from app.replay.selectors import Remover


def held_with(remover: Remover, priorities: list[float]) -> Held:
    held = Held(len(priorities))
    remover.begin(held.capacity_rows)
    remover.added(held.add(np.array(priorities, float)), np.array(priorities, float))
    return held


def test_the_oldest_leave_first() -> None:
    held = held_with(RemoveOldest(), [0.0] * 5)
    held.remove(np.array([0]))
    assert RemoveOldest().choose(held, 2, np.random.default_rng(0)).tolist() == [1, 2]


def test_any_row_leaves_with_the_same_chance() -> None:
    remover, rng = RemoveUniform(), np.random.default_rng(5)
    held = held_with(remover, [0.0] * 8)
    found = np.zeros(8)
    for _ in range(3000):
        slots = remover.choose(held, 3, rng)
        assert len(set(slots.tolist())) == 3
        found[slots] += 1
    # Exceeded once in 1,000 times by independent draws; those without replacement vary less.
    assert ((found - 1125) ** 2 / 1125).sum() < 24.32


@given(st.lists(st.integers(0, 9), min_size=1, max_size=60), st.data())
def test_the_lowest_priorities_leave_after_any_changes(priorities: list[int], data: st.DataObject) -> None:
    remover, now = RemoveLowestPriority(), [float(number) for number in priorities]
    held = held_with(remover, now)
    changed = data.draw(st.lists(st.tuples(st.sampled_from(range(len(now))), st.integers(0, 9)), max_size=20))
    for slot, number in changed:
        remover.added(np.array([slot]), np.array([float(number)]))
        now[slot] = number
    rows = data.draw(st.integers(1, len(now)))
    slots = remover.choose(held, rows, np.random.default_rng(0)).tolist()
    assert len(set(slots)) == rows
    assert sorted(now[slot] for slot in slots) == sorted(now)[:rows]


@pytest.mark.parametrize("remover", [RemoveOldest(), RemoveUniform(), RemoveLowestPriority()])
def test_all_rows_may_leave_at_once(remover: Remover) -> None:
    held = held_with(remover, [3.0, 1.0, 2.0])
    assert sorted(remover.choose(held, 3, np.random.default_rng(0)).tolist()) == [0, 1, 2]
