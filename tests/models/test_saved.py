import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from app.errors import CheckpointError, ModelMismatchError
from app.models.module import to_arrays
from app.models.saved import META, WEIGHTS, SavedModel, read_model, write_model
from tests.small_policy import small_policy


def saved() -> SavedModel:
    return SavedModel("tests.small_policy:SmallPolicy", {"inputs": 2}, "0123", "1.57", to_arrays(small_policy(3)))


def test_a_model_is_read_as_it_was_written(tmp_path: Path) -> None:
    write_model(tmp_path, saved())
    got, expected = read_model(tmp_path), saved()
    assert (got.factory, got.kwargs, got.spec_hash, got.version) == (
        "tests.small_policy:SmallPolicy",
        {"inputs": 2},
        "0123",
        "1.57",
    )
    assert got.arrays.keys() == expected.arrays.keys()
    assert all(np.array_equal(got.arrays[name], expected.arrays[name]) for name in expected.arrays)


def cut_weights(folder: Path) -> None:
    path = folder / WEIGHTS
    path.write_bytes(path.read_bytes()[:-7])


def without_the_version(folder: Path) -> None:
    meta = json.loads((folder / META).read_text())
    del meta["version"]
    (folder / META).write_text(json.dumps(meta))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda folder: (folder / META).unlink(),
        lambda folder: (folder / WEIGHTS).unlink(),
        lambda folder: (folder / META).write_text("{"),
        lambda folder: (folder / META).write_text("[]"),
        lambda folder: (folder / META).write_text("{}"),
        lambda folder: (folder / WEIGHTS).write_bytes(b""),
        cut_weights,
        without_the_version,
    ],
)
def test_a_damaged_model_is_named(spoil: Callable[[Path], object], tmp_path: Path) -> None:
    write_model(tmp_path, saved())
    spoil(tmp_path)
    with pytest.raises(CheckpointError, match=f"{tmp_path} holds no model"):
        read_model(tmp_path)


def test_another_schema_is_refused(tmp_path: Path) -> None:
    write_model(tmp_path, saved())
    meta = json.loads((tmp_path / META).read_text())
    (tmp_path / META).write_text(json.dumps(meta | {"schema_version": 2}))
    with pytest.raises(CheckpointError, match="has schema version 2; allowed is 1"):
        read_model(tmp_path)


def test_one_wrong_bit_in_the_weights_is_named(tmp_path: Path) -> None:
    write_model(tmp_path, saved())
    data = bytearray((tmp_path / WEIGHTS).read_bytes())
    data[-1] ^= 1
    (tmp_path / WEIGHTS).write_bytes(data)
    with pytest.raises(CheckpointError, match=f"{tmp_path} holds no model: its weights have the hash"):
        read_model(tmp_path)


def test_a_model_that_was_written_without_a_hash_is_read(tmp_path: Path) -> None:
    write_model(tmp_path, saved())
    meta = json.loads((tmp_path / META).read_text())
    del meta["hash"]
    (tmp_path / META).write_text(json.dumps(meta))
    assert read_model(tmp_path).version == "1.57"


def test_arrays_of_any_layout_are_read_as_they_were(tmp_path: Path) -> None:
    arrays = {
        "transposed": np.arange(6.0).reshape(2, 3).T,
        "big-endian": np.arange(3).astype(">i8"),
        "scalar": np.array(7),
    }
    write_model(tmp_path, replace(saved(), arrays=arrays))
    got = read_model(tmp_path).arrays
    assert {name: (x.shape, x.tolist()) for name, x in got.items()} == {
        name: (x.shape, x.tolist()) for name, x in arrays.items()
    }


def test_weights_of_another_network_say_who_made_them() -> None:
    saved().check("0123", "models.main.checkpoint clones/ab", "my:model")
    wrong = (
        "models.main.checkpoint clones/ab was saved by tests.small_policy:SmallPolicy with the shapes 0123; my:model"
    )
    with pytest.raises(ModelMismatchError, match=f"{wrong} builds 4567"):
        saved().check("4567", "models.main.checkpoint clones/ab", "my:model")
