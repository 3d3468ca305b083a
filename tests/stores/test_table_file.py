from pathlib import Path

import numpy as np
import pytest

from app.errors import CheckpointError
from app.stores import table_file
from app.stores.table_file import About, difference, read_about, read_table, write_table
from app.types import Arrays

ABOUT = About({"item": "transition", "seed": "7"}, "0123")
STATE: Arrays = {
    "row/observation/units": np.arange(600, dtype=np.float32).reshape(100, 6),
    "numbers": np.arange(100),
    "inserted": np.array(100),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write_table(tmp_path / "0.npz", ABOUT, STATE)
    return tmp_path / "0.npz"


def test_a_table_is_read_as_it_was_written(path: Path) -> None:
    assert read_about(path) == ABOUT
    np.testing.assert_equal(read_table(path), STATE)


def test_a_damaged_byte_is_noticed(path: Path) -> None:
    written = bytearray(path.read_bytes())
    at = written.index(np.float32(300).tobytes())
    written[at] ^= 1
    path.write_bytes(written)
    with pytest.raises(CheckpointError, match=r"cannot read the table .*0\.npz: BadZipFile: Bad CRC-32"):
        read_table(path)


@pytest.mark.parametrize("kept", [0.0, 0.3, 0.9])
def test_half_a_file_is_none(path: Path, kept: float) -> None:
    written = path.read_bytes()
    path.write_bytes(written[: int(kept * len(written))])
    with pytest.raises(CheckpointError, match="cannot read the table"):
        read_about(path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"cannot read the table .*1\.npz: FileNotFoundError"):
        read_about(tmp_path / "1.npz")


def test_another_format_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_file, "FORMAT", 2)
    with pytest.raises(CheckpointError, match=r"has format 1; allowed is 2"):
        read_about(path)


def test_nothing_that_could_run_code_is_read(path: Path) -> None:
    with path.open("wb") as file:
        np.savez(file, about=np.array([{"format": 1}], object))
    with pytest.raises(CheckpointError, match="allow_pickle=False"):
        read_about(path)


def test_differences_name_both_sides() -> None:
    assert difference(ABOUT.form, dict(ABOUT.form)) is None
    other = {"item": "transition", "seed": "8", "shard": "0 of 2"}
    assert difference(ABOUT.form, other) == "seed is 7, here 8; shard is not told, here 0 of 2"
