from pathlib import Path

import numpy as np
import pytest

from app.stores import weight_files as module
from app.stores.weight_files import StoredWeights, WeightFiles
from app.types import Version


def stored(model: str = "m", number: int = 1) -> StoredWeights:
    return StoredWeights(model, "0123", Version(2, number), {"a.weight": np.full((2, 3), number, np.float32)})


def test_weights_are_read_as_they_were_written(tmp_path: Path) -> None:
    files = WeightFiles(tmp_path / "made" / "when needed")
    files.save(stored("one", 57))
    files.save(stored("two.v2", 3))
    one, two = files.load()
    assert (one.model, one.spec_hash, one.version) == ("one", "0123", Version(2, 57))
    assert (two.model, two.version) == ("two.v2", Version(2, 3))
    assert np.array_equal(one.arrays["a.weight"], np.full((2, 3), 57))


def test_a_folder_that_is_not_there_holds_nothing(tmp_path: Path) -> None:
    assert WeightFiles(tmp_path / "nowhere").load() == []


def test_newer_weights_replace_the_older(tmp_path: Path) -> None:
    files = WeightFiles(tmp_path)
    files.save(stored(number=1))
    files.save(stored(number=2))
    assert [found.version for found in files.load()] == [Version(2, 2)]
    assert [path.name for path in tmp_path.iterdir()] == ["m.safetensors"]


def test_a_write_that_fails_leaves_the_older_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = WeightFiles(tmp_path)
    files.save(stored(number=1))

    def full(_arrays: object, path: Path, _meta: object) -> None:
        path.write_bytes(b"half of it")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "save_file", full)
    with pytest.raises(OSError, match="No space left"):
        files.save(stored(number=2))
    assert [found.version for found in files.load()] == [Version(2, 1)]


@pytest.mark.parametrize("content", [b"", b"not weights at all", (8).to_bytes(8, "little") + b"{}      "])
def test_a_damaged_file_is_passed_over_and_named(
    content: bytes, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files = WeightFiles(tmp_path)
    files.save(stored("good"))
    (tmp_path / "bad.safetensors").write_bytes(content)
    assert [found.model for found in files.load()] == ["good"]
    assert f"{tmp_path}/bad.safetensors holds no weights" in caplog.text
