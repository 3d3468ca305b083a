import math

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.metrics.measures import NAME_CHARACTERS_MAX, NAMES_MAX, Measures

FINITE = st.floats(-1e6, 1e6)


def told(measures: Measures, name: str = "x") -> list[object]:
    measure = measures.as_dict()[name]
    return [measure[key] for key in ("count", "sum", "min", "max", "not_finite")]


@given(st.lists(FINITE, min_size=1), st.lists(FINITE))
def test_two_parts_merged_are_the_whole(first: list[float], second: list[float]) -> None:
    parts = Measures(), Measures()
    for part, values in zip(parts, (first, second), strict=True):
        for value in values:
            assert part.add("x", value) is None
    parts[0].merge(parts[1])
    values = np.array(first + second)
    count, total, least, most, not_finite = told(parts[0])
    assert (count, least, most, not_finite) == (len(values), values.min(), values.max(), 0)
    assert total == pytest.approx(values.sum(), abs=1e-6)


def test_what_is_not_finite_is_told_once_and_never_mixed_in() -> None:
    measures = Measures()
    assert measures.add("x", 2.0) is None
    assert measures.add("x", math.nan) == "measure 'x' got nan, or its sum is too large; allowed are finite numbers"
    assert measures.add("x", -math.inf) is None
    assert measures.add("x", 3.0) is None
    assert told(measures) == [2, 5.0, 2.0, 3.0, 2]


def test_a_sum_never_becomes_infinite() -> None:
    measures = Measures()
    measures.add("x", 1.7e308)
    assert "its sum is too large" in str(measures.add("x", 1.7e308))
    assert told(measures) == [1, 1.7e308, 1.7e308, 1.7e308, 1]


def test_only_so_many_names_are_kept_and_the_rest_is_counted() -> None:
    measures = Measures()
    assert {measures.add(str(name), 1) for name in range(NAMES_MAX)} == {None}
    assert "allowed are 256 names" in str(measures.add("one more", 1))
    assert measures.add("x" * (NAME_CHARACTERS_MAX + 1), 1) is None
    assert measures.add("0", 1) is None
    assert (len(measures.as_dict()), measures.dropped) == (NAMES_MAX, 2)
    other = Measures()
    other.add("one more", 1)
    measures.merge(other)
    assert measures.dropped == 3


def test_measures_survive_json() -> None:
    measures = Measures()
    measures.add("x", 1.5)
    measures.add("broken", math.nan)
    assert Measures.parse(orjson.loads(orjson.dumps(measures.as_dict()))).as_dict() == measures.as_dict()
    assert measures
    assert not Measures()
