import math
import threading
import tracemalloc
from typing import Any, cast

import numpy as np
import pytest

from app.metrics import names
from app.metrics.registry import LABELS_MAX, NAME_CHARACTERS_MAX, Registry
from app.metrics.series import PENDING_MAX
from app.metrics.table import SeriesTable


def test_one_call_records_a_value_under_its_labels() -> None:
    registry = Registry()
    registry.record("damage", 3.0, weapon="axe")
    registry.record("damage", 5.0, weapon="axe")
    registry.record("damage", 1.0, weapon="bow")
    registry.record("ticks", 1.0)
    found = {(part.metric.name, part.labels): part.summary.mean for part in registry.whole()}
    assert found == {("damage", (("weapon", "axe"),)): 4.0, ("damage", (("weapon", "bow"),)): 1.0, ("ticks", ()): 1.0}


def test_growth_is_told_once_and_what_was_not_taken_is_told_again() -> None:
    registry = Registry()
    series = registry.series(names.STARTS)
    series.add(1)
    series.add(1)
    growth = registry.growth()
    assert [part.summary.sum for part in growth] == [2]
    assert registry.growth() == []
    series.add(3)
    registry.take_back(growth)
    assert [part.summary.sum for part in registry.growth()] == [5]
    assert [part.summary.sum for part in registry.whole()] == [5]


def test_a_series_that_nobody_reads_stays_small() -> None:
    series = Registry().series("x")
    for value in range(3 * PENDING_MAX):
        series.add(float(value))
    assert series.whole.count == 3 * PENDING_MAX


def test_only_so_many_series_are_kept_and_the_rest_is_counted_and_told_once(caplog: pytest.LogCaptureFixture) -> None:
    registry = Registry(series_max=2)
    for player in "abcd":
        registry.record("score", 1.0, player=player)
    registry.record("score", 1.0, player="a")
    assert (len(registry), registry.dropped) == (2, 2)
    assert caplog.messages == [
        'metric score{player="c"} is dropped: 2 series are kept, as many as are allowed; give labels fewer values; '
        "further ones are counted"
    ]


@pytest.mark.parametrize(
    ("name", "labels", "message"),
    [
        ("", {}, "its name has 0 characters"),
        ("x" * (NAME_CHARACTERS_MAX + 1), {}, "its name has 201 characters"),
        ("x", {"Weapon": "axe"}, "label 'Weapon'"),
        ("x", {"replica": "one"}, "label 'replica'"),
        ("x", {"text": "x" * (NAME_CHARACTERS_MAX + 1)}, "of label 'text'"),
        ("x", {f"l{number}": "" for number in range(LABELS_MAX + 1)}, "it has 17 labels"),
    ],
)
def test_what_cannot_be_a_series_is_refused_and_told(
    name: str, labels: dict[str, str], message: str, caplog: pytest.LogCaptureFixture
) -> None:
    registry = Registry()
    registry.record(name, 1.0, **labels)
    registry.record(name, 1.0, **labels)
    assert registry.dropped == 2
    assert len(caplog.messages) == 1
    assert message in caplog.text


def test_a_value_that_is_not_finite_is_told_once_by_name(caplog: pytest.LogCaptureFixture) -> None:
    registry = Registry()
    for _ in range(2):
        registry.record("loss", math.nan, part="policy")
        registry.growth()
    assert caplog.messages == [
        'metric loss{part="policy"} got nan; allowed are finite numbers, others are counted as not_finite'
    ]
    assert [part.summary.not_finite for part in registry.whole()] == [2]


def test_a_whole_number_that_no_float_holds_is_not_finite_and_harms_no_other_value() -> None:
    registry = Registry()
    for value in (1, 10**400, -(10**400), np.float32(2), True):
        registry.record("x", cast("float", value))
    [part] = registry.growth()
    assert (part.summary.count, part.summary.sum, part.summary.not_finite) == (3, 4, 2)


@pytest.mark.parametrize("wrong", ["3", None, 1j, [1.0]])
def test_what_is_no_number_is_refused_where_it_is_recorded(wrong: Any) -> None:
    registry = Registry()
    registry.record("x", 1.0)
    with pytest.raises(TypeError):
        registry.record("x", wrong)
    assert [part.summary.count for part in registry.growth()] == [1]


def test_values_of_many_threads_are_neither_lost_nor_counted_twice() -> None:
    registry = Registry()
    series = registry.series("x")
    per_thread = 20_000

    def add() -> None:
        for _ in range(per_thread):
            series.add(1.0)

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    told = 0
    while any(thread.is_alive() for thread in threads):
        told += sum(part.summary.count for part in registry.growth())
    for thread in threads:
        thread.join()
    told += sum(part.summary.count for part in registry.growth())
    assert told == series.whole.count == 4 * per_thread


def test_memory_stays_flat_over_a_hundred_thousand_ticks() -> None:
    registry, table = Registry(), SeriesTable()
    tick = registry.series("tick", part="agent")

    def play(begun_s: float, ticks: int) -> int:
        for number in range(ticks):
            tick.add(number * 1e-6)
            if number % 100 == 99:  # As if there were 100 ticks a second.
                table.merge(registry.growth(), begun_s + number / 100)
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        before = play(0.0, 60_000)
        after = play(600.0, 100_000)
    finally:
        tracemalloc.stop()
    assert tick.whole.count == 160_000
    assert after - before < 100_000, "less than a byte a tick, where a kept value takes 32"


def test_a_counter_that_somebody_else_counts_rises_to_where_that_is() -> None:
    series = Registry().series(names.BUFFER_INSERTED)
    for total in (5, 5, 9, 2):  # The last one has begun anew.
        series.rise_to(total)
    series.reduce()
    assert series.whole.sum == 11
