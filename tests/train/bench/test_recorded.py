"""What recording costs."""

from pathlib import Path

import numpy as np
import pytest

from app.sources.formats.recordings import RecordingShard
from train.bench import recorded as module
from train.bench.recorded import Written, told_recorder


def test_a_row_is_told_beside_plain_pyarrow() -> None:
    told = told_recorder([Written(1000, 2.0, 0.01)] * 5, [Written(1000, 1.0, 0.005)] * 5)
    assert (told["rows_per_s"]["median"], told["cpu_us_per_row"]["median"]) == (500, 10)  # type: ignore[index]
    assert (told["ratio"], told["measured"]) == (2.0, True)
    assert told_recorder([Written(1000, 2.0, 0.01)] * 4, [Written(1000, 1.0, 0.005)] * 5)["measured"] is False


def test_both_ways_write_every_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "EPISODES", 3)
    monkeypatch.setattr(module, "TICKS", 4)
    observations = np.arange(60, dtype=np.float32).reshape(3, 5, 4)
    assert module._record(tmp_path, observations) == 15
    (file,) = tmp_path.glob("*.parquet")
    seen = [stored.columns["observation"] for stored in RecordingShard(file, {})]
    assert np.concatenate(seen).tolist() == observations.reshape(15, 4).tolist()
    assert module._write(tmp_path, module._columns(observations)) == 15
