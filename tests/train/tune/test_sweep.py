from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from train.bench.statistics import Figure
from train.tune.sweep import WINDOWS, Size, best, measure, sizes_up_to


class Clock:
    """A clock that only calls move."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.calls = 0

    def __call__(self) -> float:
        return self.now_s

    def takes(self, seconds: float) -> Callable[[], None]:
        def call() -> None:
            self.calls += 1
            self.now_s += seconds

        return call


def size(rows: int, per_s: float, p99_ms: float) -> Size:
    return Size("float32", rows, Figure(per_s, 0.0, 5), p99_ms / 2, p99_ms)


@pytest.mark.parametrize(("max_rows", "sizes"), [(1, [1]), (2, [1, 2]), (8, [1, 2, 4, 8]), (12, [1, 2, 4, 8, 12])])
def test_sizes_double_up_to_the_largest(max_rows: int, sizes: list[int]) -> None:
    assert sizes_up_to(max_rows) == sizes


def test_throughput_and_latency_follow_from_the_time_of_a_call() -> None:
    clock = Clock()
    found = measure("float32", 8, clock.takes(0.25), 1.0, clock)
    assert found.observations_per_s == Figure(32.0, 0.0, WINDOWS)
    assert (found.p50_ms, found.p99_ms) == (250, 250)
    assert clock.calls == 3 + WINDOWS * 4


def test_a_call_longer_than_a_window_is_measured_once_a_window() -> None:
    clock = Clock()
    found = measure("float32", 1, clock.takes(3.0), 1.0, clock)
    assert found.p50_ms == 3000
    assert clock.calls == 3 + WINDOWS


def test_the_largest_throughput_within_the_latency_is_best() -> None:
    sizes = [size(1, 10, 0.5), size(2, 30, 1.0), size(4, 20, 1.5), size(8, 90, 2.5)]
    assert best(sizes, 2.0) is sizes[1]
    assert best(sizes, 3.0) is sizes[3]
    assert best(sizes, 0.4) is None


@given(st.lists(st.tuples(st.integers(1, 99), st.floats(1, 1e6), st.floats(0.01, 100)), max_size=8), st.floats(0, 100))
def test_nothing_that_is_fast_enough_beats_the_best(found: list[tuple[int, float, float]], latency_ms: float) -> None:
    sizes = [size(*one) for one in found]
    chosen = best(sizes, latency_ms)
    fast = [one for one in sizes if one.p99_ms <= latency_ms]
    assert (chosen is None) == (not fast)
    if chosen is not None:
        assert chosen in fast
        assert all(one.observations_per_s.median <= chosen.observations_per_s.median for one in fast)
