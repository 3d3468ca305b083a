from pathlib import Path

import pytest

from train.bench.buffer import BufferPlan, Window, told_cost, told_lag, told_rows
from train.bench.buffer_actors import Counted, TimedBuffer
from train.bench.buffer_cases import ATARI, CARTPOLE, trajectories, trajectory_rows
from train.bench.buffer_table import BATCH_ITEMS
from train.bench.cells import WINDOWS_MIN


def window(rows: int = 1_000_000, age_s: float = 0.055, wait_s: float = 0.001, cpu_s: float = 4.0) -> Window:
    return Window(Counted(rows, 2.0, [wait_s] * 3, [age_s] * 3), cpu_s)


def test_a_stream_is_told_beside_the_plain_path() -> None:
    told = told_rows(CARTPOLE, [window()] * 5, [window(2_000_000)] * 5)
    assert told["rows_per_s"]["median"] == pytest.approx(500_000)  # type: ignore[index]
    assert told["cpu_us_per_row"]["median"] == pytest.approx(4.0)  # type: ignore[index]
    assert (told["ratio"], told["within"], told["measured"]) == (0.5, True, True)
    assert told_rows(CARTPOLE, [window(790_000)] * 5, [window()] * 5)["within"] is False


def test_few_or_scattered_windows_are_not_measured() -> None:
    assert BufferPlan().windows == WINDOWS_MIN
    assert told_rows(CARTPOLE, [window()] * 4, [window()] * 5)["measured"] is False
    scattered = [window(rows) for rows in (1_000_000, 1_000_000, 2_000_000, 3_000_000, 3_000_000)]
    assert told_rows(CARTPOLE, scattered, [window()] * 5)["measured"] is False


@pytest.mark.parametrize(
    ("age_s", "wait_s", "within"), [(0.059, 0.001, True), (0.061, 0.001, False), (0.05, 0.003, False)]
)
def test_the_aim_of_lag_is_met_by_age_and_waiting(age_s: float, wait_s: float, within: bool) -> None:
    told = told_lag([window(age_s=age_s, wait_s=wait_s)] * 5)
    assert told["within"] is within
    assert told["age_steps"] == pytest.approx(age_s / 0.05, abs=0.01)


def test_a_cost_is_told_beside_its_aim() -> None:
    told = told_cost([0.4] * 5, 0.5, "ms")
    assert (told["within"], told["measured"], told["target_ms"]) == (True, True, 0.5)
    assert told_cost([0.6] * 5, 0.5, "ms")["within"] is False


@pytest.mark.parametrize("case", [CARTPOLE, ATARI])
def test_a_push_is_whole_trajectories_of_the_case(case: object) -> None:
    assert case in (CARTPOLE, ATARI)
    one = CARTPOLE if case is CARTPOLE else ATARI
    rows = trajectories(one)
    assert len(rows["kind"]) == one.push_rows
    assert (rows["kind"] != 0).sum() == one.push_rows // one.fragment_rows
    assert len(trajectory_rows(one)) == one.fragment_rows
    assert one.capacity_rows >= one.batch_rows >= BATCH_ITEMS


def test_the_age_of_batches_that_nobody_timed_is_not_known(tmp_path: Path) -> None:
    buffer = TimedBuffer([], str(tmp_path / "times"))
    assert buffer.taken_ns() == {}
    (tmp_path / "times").write_text("3 100\n4 200\n", encoding="ascii")
    assert buffer.taken_ns() == {3: 100, 4: 200}
