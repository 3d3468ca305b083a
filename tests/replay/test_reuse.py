import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from app.replay.reuse import occurrences


@given(st.lists(st.integers(0, 5), max_size=30))
def test_each_slot_knows_how_often_it_stood_before(slots: list[int]) -> None:
    expected = [slots[:at].count(slot) for at, slot in enumerate(slots)]
    assert occurrences(np.array(slots, np.intp)).tolist() == expected
