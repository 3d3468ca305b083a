"""Episodes reach their files without anybody waiting for the disk."""

import os
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from app.agents.game_log import About, Entry, Played
from app.agents.unroll import Row
from app.config.recording import RecordConfig
from app.sources.formats.recordings import RecordingShard
from app.types import Purpose, RowKind
from deployments import recorder as module
from deployments.recorder import Recorder
from tests.small_policy import discrete

SPEC = discrete((2,), 3)
WAIT_S = 10.0


def episode(number: int, steps: int = 2) -> Played:
    entries = [
        Entry("tick" if t < steps else "stop", t + 1, 100.0 + t, 0, b"{}", b"{}", rows=[row])
        for t, row in enumerate(rows_of(number, steps))
    ]
    return Played(About(f"s{number}", f"g{number}", "player", Purpose.PLAY, number), "every", entries)


def rows_of(number: int, steps: int) -> list[Row]:
    kinds = [RowKind.STEP] * steps + [RowKind.TERMINATED]
    mask = np.ones(3, bool)
    seen = [np.array([number, t], np.float32) for t in range(steps + 1)]
    return [
        Row(seen[t], 1, mask, None, 0.5, -0.1, 2.0, int(kind), 1.0 - (kind > 0), 1, 5, number, t)
        for t, kind in enumerate(kinds)
    ]


def numbers(folder: Path) -> list[list[int]]:
    """Returns the episodes of each file."""
    files = sorted(folder.glob("*.parquet"))
    return [[int(stored.columns["episode"][0]) for stored in RecordingShard(file, {})] for file in files]


@pytest.fixture
def counts() -> Counter[str]:
    return Counter()


@pytest.fixture
def stuck_disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Lets no file be written before the event is set."""
    free, write = threading.Event(), module.write_table

    def slow(*arguments: object) -> int:
        assert free.wait(WAIT_S)
        return write(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "write_table", slow)
    yield free
    free.set()


def test_what_waits_is_written_at_the_end(tmp_path: Path, counts: Counter[str]) -> None:
    recorder = Recorder(tmp_path, "player", SPEC, RecordConfig(), counts)
    for number in range(3):
        recorder.add(episode(number))
    assert recorder.close(WAIT_S)
    assert numbers(tmp_path) == [[0, 1, 2]]
    assert counts == {"recorded_episodes": 3}


def test_a_file_is_written_when_it_is_large_or_old_enough(tmp_path: Path, counts: Counter[str]) -> None:
    by_size = Recorder(tmp_path / "size", "player", SPEC, RecordConfig(file_mb=1e-6), counts)
    by_size.add(episode(0))
    by_size.add(episode(1))
    assert by_size.close(WAIT_S)
    assert numbers(tmp_path / "size") == [[0], [1]]
    by_age = Recorder(tmp_path / "age", "player", SPEC, RecordConfig(file_s=0.01), counts)
    by_age.add(episode(0))
    written = threading.Event()
    for _ in range(1000):
        if list((tmp_path / "age").glob("*.parquet")):
            break
        written.wait(0.01)
    assert numbers(tmp_path / "age") == [[0]]
    assert by_age.close(WAIT_S)


def test_episodes_are_dropped_and_counted_while_the_disk_stands_still(
    tmp_path: Path, counts: Counter[str], stuck_disk: threading.Event
) -> None:
    recorder = Recorder(tmp_path, "player", SPEC, RecordConfig(file_mb=1e-6, max_waiting=2), counts)
    for number in range(10):
        recorder.add(episode(number))
    dropped = counts["recordings_dropped"]
    assert dropped >= 7  # One is being written, two wait.
    stuck_disk.set()
    assert recorder.close(WAIT_S)
    assert counts["recorded_episodes"] == 10 - dropped


def test_a_disk_that_takes_nothing_is_counted_and_the_recorder_lives(tmp_path: Path, counts: Counter[str]) -> None:
    (tmp_path / "file").write_text("in the way")
    recorder = Recorder(tmp_path / "file", "player", SPEC, RecordConfig(file_mb=1e-6), counts)
    recorder.add(episode(0))
    recorder.add(episode(1))
    assert recorder.close(WAIT_S)
    assert counts == {"recordings_failed": 2}


def test_the_oldest_files_make_room(tmp_path: Path, counts: Counter[str]) -> None:
    recorder = Recorder(tmp_path, "player", SPEC, RecordConfig(file_mb=1e-6, max_mb=1e-3), counts)
    for number in range(4):
        recorder.add(episode(number))
    assert recorder.close(WAIT_S)
    assert numbers(tmp_path) == [[3]]
    assert counts["recordings_removed"] == 3


def test_old_files_leave(tmp_path: Path, counts: Counter[str]) -> None:
    old = tmp_path / "player-old.parquet"
    old.write_bytes(b"x")
    os.utime(old, (1, 1))
    recorder = Recorder(tmp_path, "player", SPEC, RecordConfig(file_mb=1e-6, max_days=1), counts)
    recorder.add(episode(0))
    assert recorder.close(WAIT_S)
    assert numbers(tmp_path) == [[0]]
    assert counts["recordings_removed"] == 1


def test_the_rows_of_what_is_written_are_looked_at(tmp_path: Path, counts: Counter[str]) -> None:
    seen: list[list[int]] = []
    recorder = Recorder(
        tmp_path, "player", SPEC, RecordConfig(), counts, look=lambda rows: seen.append(rows["episode"].tolist())
    )
    recorder.add(episode(1))
    recorder.add(episode(2, steps=1))
    assert recorder.close(WAIT_S)
    assert seen == [[1, 1, 1, 2, 2]]
