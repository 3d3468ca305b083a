"""Recorded games as what an export is compared on."""

import asyncio
from pathlib import Path

import numpy as np
import pytest

from app.errors import ExportError
from tests.recordings.played import write_games
from tests.small_policy import discrete
from train.export.recorded import ROWS_MAX, is_recording, recorded_samples

SPEC = discrete((2,), 2)


def test_the_steps_of_all_games_are_taken_without_bootstrap_rows(tmp_path: Path) -> None:
    asyncio.run(write_games(tmp_path / "a" / "player-1.parquet", [3, 2]))
    samples = recorded_samples(tmp_path, SPEC)
    assert samples.recorded
    assert samples.rows == 5
    assert sorted(samples.inputs[0][:, 0].tolist()) == [0, 0, 1, 1, 2]
    (mask,) = samples.masks
    assert mask is not None
    assert mask.dtype == np.bool_
    assert mask.all()


def test_no_more_rows_are_taken_than_are_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ROWS_MAX >= 1024
    monkeypatch.setattr("train.export.recorded.ROWS_MAX", 4)
    path = asyncio.run(write_games(tmp_path / "player-1.parquet", [3, 3]))
    assert recorded_samples(path, SPEC).rows == 4


def test_what_is_no_recording_or_does_not_fit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="holds no recordings"):
        recorded_samples(tmp_path, SPEC)
    path = asyncio.run(write_games(tmp_path / "player-1.parquet", [3]))
    with pytest.raises(ExportError, match=r"cannot be compared on: .*observation is float32 of shape"):
        recorded_samples(path, discrete((3,), 2))


def test_files_of_arrays_are_told_from_recordings(tmp_path: Path) -> None:
    assert is_recording(tmp_path)
    assert is_recording(Path("player-1.parquet"))
    assert not is_recording(Path("rows.npz"))
