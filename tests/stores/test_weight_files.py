from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from app.errors import CheckpointError
from app.models.content import content_hash
from app.stores.weight_files import StoredWeights, WeightFiles, read_weights
from app.stores.weights_format import WeightsMeta
from app.types import Arrays, Version


def arrays_of(number: int) -> Arrays:
    return {"a.weight": np.full((2, 3), number, np.float32), "steps": np.array(number, np.int64)}


def stored(model: str = "m", number: int = 1) -> StoredWeights:
    arrays = arrays_of(number)
    meta = WeightsMeta("0123", Version(2, number), content_hash(arrays, "0123"), Version(2, number - 1), 1234.5)
    return StoredWeights(model, meta, arrays)


def test_weights_are_read_as_they_were_written(tmp_path: Path) -> None:
    files = WeightFiles(tmp_path / "made" / "when needed")
    files.save(stored("one", 57))
    files.save(stored("two.v2", 3))
    one, two = files.load()
    assert (one.model, one.meta) == ("one", stored("one", 57).meta)
    assert (two.model, two.version) == ("two.v2", Version(2, 3))
    assert one.arrays.keys() == arrays_of(57).keys()
    assert all(np.array_equal(one.arrays[name], array) for name, array in arrays_of(57).items())


def test_a_folder_that_is_not_there_holds_nothing(tmp_path: Path) -> None:
    assert WeightFiles(tmp_path / "nowhere").load() == []


def test_newer_weights_replace_the_older(tmp_path: Path) -> None:
    files = WeightFiles(tmp_path)
    files.save(stored(number=1))
    files.save(stored(number=2))
    assert [found.version for found in files.load()] == [Version(2, 2)]
    assert [path.name for path in tmp_path.iterdir()] == ["m.safetensors"]


def test_a_write_that_fails_leaves_the_older_weights(tmp_path: Path) -> None:
    files = WeightFiles(tmp_path)
    files.save(stored(number=1))
    (tmp_path / ".m.unfinished").mkdir()  # Whatever keeps the new file from being written.
    with pytest.raises(OSError, match="Is a directory"):
        files.save(stored(number=2))
    assert [found.version for found in files.load()] == [Version(2, 1)]


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-3])


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def rewritten(**changes: str) -> Callable[[Path], None]:
    def rewrite(path: Path) -> None:
        meta = {name: text for name, text in (stored().meta.as_text() | changes).items() if text != "none"}
        save_file(arrays_of(1), path, meta)

    return rewrite


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda path: path.write_bytes(b""), "holds no weights: SafetensorError"),
        (lambda path: path.write_bytes(b"not weights at all"), "holds no weights: SafetensorError"),
        (
            lambda path: path.write_bytes((8).to_bytes(8, "little") + b"{}      "),
            "schema_version is None, allowed is 1",
        ),
        (cut, "holds no weights: SafetensorError"),
        (flip, "is damaged: its values have the hash"),
        (rewritten(schema_version="2"), "schema_version is '2', allowed is 1"),
        (rewritten(version="newest"), "a version is written as generation.number"),
        (rewritten(parent="none"), "the metadata lack 'parent'"),
        (rewritten(content_hash="0" * 64), "is damaged"),
    ],
)
def test_a_file_that_is_refused_is_named_and_put_aside(
    spoil: Callable[[Path], None], reason: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files = WeightFiles(tmp_path)
    files.save(stored("good"))
    bad = tmp_path / "bad.safetensors"
    files.save(stored("bad"))
    spoil(bad)
    with pytest.raises(CheckpointError, match=reason) as refused:
        read_weights(bad)
    assert str(bad) in str(refused.value)
    assert [found.model for found in files.load()] == ["good"]
    assert f"{bad} " in caplog.text
    files.save(stored("bad", 2))
    assert {path.name for path in tmp_path.iterdir()} == {
        "bad.safetensors", "bad.safetensors.refused", "good.safetensors",
    }  # fmt: skip
