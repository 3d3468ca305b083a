"""What ``bench league`` says of its files."""

import pytest

from train.bench.league_files import Snapshot, told_entries, told_snapshots


def test_an_entry_is_within_with_and_without_the_disk() -> None:
    assert told_entries([(0.01, 0.1)] * 5, [4.0] * 5)["within"]
    assert not told_entries([(0.01, 1.5)] * 5, [4.0] * 5)["within"]
    assert told_entries([(0.01, 0.1)] * 5, [4.0] * 5)["ratio"] == pytest.approx(0.025)


def test_a_snapshot_is_within_by_its_cpu_in_loop_and_thread() -> None:
    assert told_snapshots([Snapshot(5.0, 40.0, 300.0, 9.0)] * 5, [15.0] * 5)["within"]
    assert not told_snapshots([Snapshot(5.0, 46.0, 300.0, 9.0)] * 5, [15.0] * 5)["within"]
    assert told_snapshots([Snapshot(5.0, 20.0, 30.0, 9.0)] * 5, [15.0] * 5)["ratio"] == 2.0
