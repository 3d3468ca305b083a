import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.replay.diff_bounds import DiffBounds
from app.replay.limiter import Counts, Limiter, TableShape
from app.replay.limiters import MinSize, Queue, SamplesPerInsert

VECTORS = json.loads((Path(__file__).parent.parent / "vectors/reverb_rate_limiter.json").read_text())
STEPS = [case for case in VECTORS["cases"] if "steps" in case]


def bounds_of(case: dict[str, Any]) -> DiffBounds:
    """Returns the arithmetic alone: some outside cases are too narrow for a limiter that is made."""
    low, high = (Fraction(str(case[name])) for name in ("min_diff", "max_diff"))
    return DiffBounds(Fraction(str(case["spi"])), case["min_size"], low, high)


def shape(
    holdable: int = 1000, largest: int = 1, *, distinct: bool = False, max_reuse: int | None = None
) -> TableShape:
    return TableShape(holdable, largest, distinct, max_reuse)


@pytest.mark.parametrize("case", STEPS)
def test_steps_are_allowed_and_blocked_where_reverb_does(case: dict[str, Any]) -> None:
    bounds, inserted, sampled, held = bounds_of(case), 0, 0, 0
    for step, outcome in case["steps"]:
        counts = Counts(inserted, sampled, held)
        allowed = {
            "insert": bounds.insertable_rows(counts) >= 1,
            "sample": bounds.can_sample(counts, 1),
            "delete": True,
        }[step]
        assert allowed == outcome.startswith("ok"), (counts, step)
        if allowed:
            inserted, sampled = inserted + (step == "insert"), sampled + (step == "sample")
            held += {"insert": 1, "sample": 0, "delete": -1}[step]


def test_a_sample_may_be_as_large_as_the_error_buffer_allows() -> None:
    case = next(case for case in VECTORS["cases"] if "can_sample" in case.get("query", {}))
    bounds, query = bounds_of(case), case["query"]
    inserts = query["after_inserts"]
    for rows, allowed in query["can_sample"].items():
        assert bounds.can_sample(Counts(inserts, 0, inserts), int(rows)) == allowed
    for rows, allowed in query["before_any_insert"].items():
        assert bounds.can_sample(Counts(0, 0, 0), int(rows)) == allowed


def test_an_insert_may_be_as_large_as_the_error_buffer_allows() -> None:
    case = next(case for case in VECTORS["cases"] if "can_insert_at_start" in case.get("query", {}))
    bounds, query = bounds_of(case), case["query"]
    moments = {
        "can_insert_at_start": Counts(0, 0, 0),
        "after_3_inserts": Counts(3, 0, 3),
        "after_2_more_samples": Counts(3, 2, 3),
    }
    for name, counts in moments.items():
        for rows, allowed in query[name].items():
            assert (bounds.insertable_rows(counts) >= int(rows)) == allowed, (name, rows)


@pytest.mark.parametrize("case", VECTORS["constructor"])
def test_what_reverb_refuses_is_refused(case: dict[str, Any]) -> None:
    def make() -> Limiter:
        if "spi" not in case:
            return MinSize(case["min_size"])
        buffer = case["error_buffer"]
        return SamplesPerInsert(case["spi"], case["min_size"], tuple(buffer) if isinstance(buffer, list) else buffer)

    if case["want"] == "ok":
        make()
        return
    with pytest.raises(ValueError, match=r"min_size_rows|error_buffer"):
        make()


@pytest.mark.parametrize("number", [0.0, -1.0])
def test_a_ratio_of_nothing_is_refused(number: float) -> None:
    with pytest.raises(ValueError, match=f"samples_per_insert must be positive, got {number}"):
        SamplesPerInsert(number, 1, 10.0)


@pytest.mark.parametrize("number", [math.inf, math.nan])
def test_what_is_no_number_is_refused(number: float) -> None:
    with pytest.raises(ValueError, match="samples_per_insert must be a finite number"):
        SamplesPerInsert(number, 1, 10.0)
    with pytest.raises(ValueError, match="error_buffer must be a finite number"):
        SamplesPerInsert(1.0, 1, number)


def test_decimals_are_taken_as_written() -> None:
    # 0.1 * 30 is above 3 in floats, which would refuse the thirtieth insert.
    assert SamplesPerInsert(0.1, 1, (0.0, 3.0)).insertable_rows(Counts(0, 0, 0)) == 30
    assert SamplesPerInsert(0.1, 1, (0.0, 3.0)).can_sample(Counts(30, 2, 1), 1)


def test_a_minimum_alone_never_blocks_inserts() -> None:
    limiter = MinSize(3)
    assert limiter.insertable_rows(Counts(10**12, 0, 1000)) > 10**12
    assert not limiter.can_sample(Counts(10, 0, 2), 1)
    assert limiter.can_sample(Counts(10, 10**9, 3), 1)


def test_a_queue_has_room_for_what_is_not_yet_sampled() -> None:
    queue = Queue(4)
    assert queue.insertable_rows(Counts(10, 7, 3)) == 1
    assert queue.insertable_rows(Counts(11, 7, 4)) == 0
    assert queue.can_sample(Counts(11, 7, 4), 4)
    assert not queue.can_sample(Counts(11, 7, 4), 5)


@pytest.mark.parametrize(
    ("limiter", "table", "message"),
    [
        (MinSize(10), shape(9), "wait for 10 rows, but the table never holds over 9"),
        (MinSize(1), shape(9, 10, distinct=True), "wait for 10 rows, but the table never holds over 9"),
        (SamplesPerInsert(1, 10, 5), shape(9), "wait for 10 rows, but the table never holds over 9"),
        (SamplesPerInsert(1, 10, 5), shape(largest=10), r"from 5.0 to 15.0 allows samples of at most 9 rows"),
        (SamplesPerInsert(1, 4, 9), shape(largest=5, distinct=True), "min_size_rows must be at least 5, got 4"),
        (SamplesPerInsert(3, 10, 9), shape(max_reuse=2), r"samples_per_insert 3.0 is out of reach.*max_reuse 2"),
        (Queue(5), shape(), "max_reuse must be 1, got None"),
        (Queue(5), shape(max_reuse=2), "max_reuse must be 1, got 2"),
        (Queue(5), shape(4, max_reuse=1), "got 1, 5 and 4"),
        (Queue(5), shape(largest=6, max_reuse=1), "got 6, 5 and 1000"),
    ],
)
def test_a_table_that_would_wait_for_ever_is_refused(limiter: Limiter, table: TableShape, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        limiter.check(table)


@pytest.mark.parametrize(
    ("limiter", "table"),
    [
        (MinSize(9), shape(9, 9, distinct=True)),
        (SamplesPerInsert(1, 10, 5), shape(10, 9)),
        (SamplesPerInsert(2, 10, 9), shape(max_reuse=2)),
        (Queue(5), shape(5, 5, distinct=True, max_reuse=1)),
    ],
)
def test_a_table_at_the_edge_is_allowed(limiter: Limiter, table: TableShape) -> None:
    limiter.check(table)


ratios = st.sampled_from([0.1, 0.3, 0.5, 1.0, 1.5, 2.0, 7.3])


@given(ratios, st.integers(1, 8), st.integers(0, 40), st.integers(0, 200), st.integers(0, 1500), st.integers(0, 60))
def test_insertable_rows_are_exactly_those_that_keep_the_invariant(
    ratio: float, min_size: int, spare: int, inserted: int, sampled: int, held: int
) -> None:
    buffer = 2 * max(1.0, ratio) + spare
    limiter, tenths = SamplesPerInsert(ratio, min_size, buffer), round(ratio * 10)
    highest = tenths * min_size + round(buffer * 10)

    def keeps(rows: int) -> bool:
        return held + rows <= min_size or tenths * (inserted + rows) - 10 * sampled <= highest

    rows = limiter.insertable_rows(Counts(inserted, sampled, held))
    assert all(keeps(some) for some in range(1, rows + 1))
    assert not keeps(rows + 1)
