from dataclasses import replace

import pytest

from train.bench.cells import BATCH_STEPS, Cell, cells, told, told_with_limit
from train.bench.generator import Mode, Window
from train.bench.ticks import errors_in

GOOD = Window(
    ticks=1000,
    seconds=0.5,
    p50_ms=0.2,
    p99_ms=1.0,
    p999_ms=2.0,
    max_ms=4.0,
    errors=0,
    first_error="",
    generator_share=0.25,
    watched_cpu_s=(0.02, 0.01),
)


def windows(count: int = 5, **changes: object) -> list[Window]:
    return [replace(GOOD, **changes)] * count  # type: ignore[arg-type]


def test_cpu_time_is_that_of_all_watched_processes_a_tick() -> None:
    assert GOOD.cpu_us == pytest.approx(30.0)
    assert GOOD.ticks_per_s == 2000


def test_cells_are_all_combinations() -> None:
    found = cells([Mode.HTTP, Mode.BRAY], [1, 8], [64])
    assert found == [
        Cell(Mode.HTTP, 1, 64),
        Cell(Mode.HTTP, 8, 64),
        Cell(Mode.BRAY, 1, 64),
        Cell(Mode.BRAY, 8, 64),
    ]


def test_five_quiet_windows_are_measured_and_four_are_not() -> None:
    assert told(windows(5))["measured"]
    assert not told(windows(4))["measured"]


def test_one_error_anywhere_means_that_nothing_was_measured() -> None:
    found = told([*windows(4), *windows(1, errors=2, first_error="a wrong answer: x")])
    assert (found["measured"], found["errors"], found["first_error"]) == (False, 2, "a wrong answer: x")


def test_a_window_without_a_tick_has_no_figures() -> None:
    found = told([*windows(5), *windows(1, ticks=0, errors=1, first_error="closed")])
    assert found == {"measured": False, "errors": 1, "first_error": "closed"}


def test_a_wide_spread_of_the_rate_is_not_measured() -> None:
    wide = [replace(GOOD, seconds=seconds) for seconds in (0.5, 0.5, 1.0, 1.5, 1.5)]
    assert not told(wide)["measured"]


def test_a_busy_load_generator_is_marked() -> None:
    assert not told(windows(5, generator_share=0.4))["generator_may_limit"]
    assert told([*windows(4), *windows(1, generator_share=0.41)])["generator_may_limit"]


def test_the_ratio_is_that_of_cpu_times() -> None:
    found = told_with_limit(Cell(Mode.HTTP, 8, 64), windows(), windows(watched_cpu_s=(0.012,)))
    assert found["ratio"] == 2.5
    assert found["limit"] == "bare http echo"


def test_the_limit_of_native_batches_moves_the_same_bytes_in_one_frame() -> None:
    cell = Cell(Mode.BATCH, 8, 64)
    limit = cell.limit_load(1, 1.0)
    assert (limit.mode, limit.sessions, limit.body_bytes) == (Mode.BRAY, 1, 64 * BATCH_STEPS)
    assert cell.load(1, 1.0).sessions == BATCH_STEPS
    found = told_with_limit(cell, windows(), windows())
    assert found["ratio"] == BATCH_STEPS


def test_errors_are_summed_over_all_parts_and_counted_once() -> None:
    part = {"errors": 2, "inside": {"errors": 2}}
    assert errors_in({"cells": [part, {"errors": 1, "limit_errors": 4}], "memory": {"errors": 0}}) == 7
