"""Files that leave."""

import os
from pathlib import Path

from app.recordings.files import remove_older, remove_oldest


def test_the_oldest_files_of_one_agent_leave_until_the_rest_is_small_enough(tmp_path: Path) -> None:
    for name in ("red-1", "red-2", "red-3", "blue-1"):
        (tmp_path / f"{name}.parquet").write_bytes(b"x" * 100)
    assert remove_oldest(tmp_path, "red-", 250) == 1
    assert sorted(path.stem for path in tmp_path.iterdir()) == ["blue-1", "red-2", "red-3"]
    assert remove_oldest(tmp_path, "red-", 10) == 1
    assert sorted(path.stem for path in tmp_path.iterdir()) == ["blue-1", "red-3"]


def test_files_leave_that_were_written_before_a_time(tmp_path: Path) -> None:
    for second, name in enumerate(("red-1", "red-2", "blue-1"), 1):
        (tmp_path / f"{name}.parquet").write_bytes(b"x")
        os.utime(tmp_path / f"{name}.parquet", (second, second))
    assert remove_older(tmp_path, "red-", 2) == 1
    assert sorted(path.stem for path in tmp_path.iterdir()) == ["blue-1", "red-2"]
