"""Names of models: own and other trials, clones, checkpoints, folders."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from app.errors import CheckpointError
from app.models.pool import ModelPool, Source
from app.models.reference import ModelReferences
from app.models.saved import META, SavedModel, write_model


def saved(value: float) -> SavedModel:
    return SavedModel("a:b", {}, "0123", "1.7", {"w": np.full(2, value, np.float32)})


def model_at(folder: Path, value: float) -> Path:
    folder.mkdir(parents=True)
    write_model(folder, saved(value), {"step": 5})
    return folder


@pytest.fixture
def references(tmp_path: Path) -> ModelReferences:
    return ModelReferences(tmp_path, "mine")


def value_of(references: ModelReferences, name: str) -> float:
    return float(references.read(name).saved.arrays["w"][0])


def test_a_clone_is_found_in_the_own_trial_and_by_name_in_another(references: ModelReferences, tmp_path: Path) -> None:
    own = ModelPool(tmp_path / "mine" / "clones").clone(Source(saved(1), "x", step=3), "main", frozen=True)
    other = ModelPool(tmp_path / "other" / "clones").clone(Source(saved(2), "x"), "main", frozen=True)
    assert value_of(references, f"clones/{own.id}") == value_of(references, f"clones/{own.hash}") == 1
    assert value_of(references, f"other/clones/{other.id}") == 2
    assert value_of(references, str(tmp_path / "other" / "clones" / other.id)) == 2
    got = references.read(f"clones/{own.id}")
    assert (got.parent, got.step, got.origin) == (own.id, 3, f"clones/{own.id}")
    with pytest.raises(
        CheckpointError, match=re.escape(f"mine/clones: there is no clone {other.id!r}; there are {own.id}")
    ):
        references.find(f"clones/{other.id}")


def test_a_clone_of_another_trial_is_the_origin_and_not_the_parent(references: ModelReferences, tmp_path: Path) -> None:
    other = ModelPool(tmp_path / "other" / "clones").clone(Source(saved(2), "x"), "main", frozen=True)
    source = references.read(f"other/clones/{other.id}")
    assert (source.origin, source.parent) == (f"other/clones/{other.id}", None)
    own = ModelPool(tmp_path / "mine" / "clones")
    copy = own.clone(source, "main", frozen=True)
    assert (copy.id, copy.parent) == (other.id, None)  # Of equal content, so their ids are equal, too.
    assert list(own.lineage()) == [copy]


def test_a_checkpoint_is_found_by_number_and_as_the_latest(references: ModelReferences, tmp_path: Path) -> None:
    for trial, first in (("mine", 1), ("other", 3)):
        model_at(tmp_path / trial / "checkpoints" / "000001-0000000005", first)
        model_at(tmp_path / trial / "checkpoints" / "000001-0000000009", first + 1)
    names = ("checkpoints/5", "checkpoints/latest", "other/checkpoints/5", "other/checkpoints/latest")
    assert [value_of(references, name) for name in names] == [1, 2, 3, 4]
    got = references.read("checkpoints/latest")
    assert (got.origin, got.parent, got.step) == ("checkpoints/000001-0000000009", None, 5)
    with pytest.raises(CheckpointError, match=r"no checkpoint 6 in .*; there are 000001-0000000005, 000001-0000000009"):
        references.find("checkpoints/6")


def test_a_trainer_is_named_where_there_are_several(references: ModelReferences, tmp_path: Path) -> None:
    checkpoints = tmp_path / "mine" / "checkpoints"
    model_at(checkpoints / "main" / "000001-0000000005", 1)
    model_at(checkpoints / "main.before-20260102-030405" / "000001-0000000005", 2)
    assert value_of(references, "checkpoints/5") == value_of(references, "checkpoints/latest") == 1
    model_at(checkpoints / "rival" / "000001-0000000005", 3)
    for name, value in (("main/5", 1), ("main/latest", 1), ("rival/latest", 3), ("rival/000001-0000000005", 3)):
        assert value_of(references, f"checkpoints/{name}") == value
    assert references.read("checkpoints/rival/5").origin == "checkpoints/rival/000001-0000000005"
    with pytest.raises(CheckpointError, match="several trainers; name one: checkpoints/main, checkpoints/rival"):
        references.find("checkpoints/latest")
    with pytest.raises(CheckpointError, match=r"no checkpoint 6 in .*rival; there are 000001-0000000005"):
        references.find("checkpoints/rival/6")


def test_the_latest_checkpoint_is_the_newest_that_can_be_read(references: ModelReferences, tmp_path: Path) -> None:
    folders = [model_at(tmp_path / "mine" / "checkpoints" / f"000001-000000000{n}", n) for n in (5, 9)]
    (folders[1] / "weights.safetensors").write_bytes(b"half")
    assert value_of(references, "checkpoints/latest") == 5
    with pytest.raises(CheckpointError, match="000001-0000000009 holds no model"):
        references.read("checkpoints/9")
    (folders[0] / META).write_text("{")
    with pytest.raises(CheckpointError, match=r"no checkpoint in .* that can be read"):
        references.find("checkpoints/latest")


def test_the_latest_checkpoint_can_also_be_trained_on(references: ModelReferences, tmp_path: Path) -> None:
    folders = [model_at(tmp_path / "mine" / "checkpoints" / f"000001-000000000{n}", n) for n in (5, 9)]
    meta = json.loads((folders[1] / META).read_text())
    (folders[1] / META).write_text(json.dumps({**meta, "learner": {"sha256": "of a learner.pt that is not there"}}))
    assert value_of(references, "checkpoints/latest") == 5


def test_a_trainable_clone_is_what_its_trainer_has_made_of_it(references: ModelReferences, tmp_path: Path) -> None:
    pool = ModelPool(tmp_path / "mine" / "clones")
    made = pool.clone(Source(saved(1), "x"), "main", frozen=False)
    assert value_of(references, f"clones/{made.id}") == 1
    model_at(pool.folder(made.id) / "checkpoints" / "000001-0000000009", 8)
    assert value_of(references, f"clones/{made.id}") == 8
    got = references.read(f"clones/{made.id}")
    assert (got.parent, got.step) == (made.id, 5)
    assert got.origin == f"clones/{made.id}/checkpoints/000001-0000000009"
    assert value_of(references, f"clones/{made.id}/checkpoints/9") == 8
    assert references.read(f"clones/{made.id}/checkpoints/9").parent == made.id


def test_any_folder_with_a_model_will_do(references: ModelReferences, tmp_path: Path) -> None:
    model_at(tmp_path / "mine" / "kept", 1)
    model_at(tmp_path / "shared", 2)
    names = ("kept", "shared", str(tmp_path / "shared"))
    assert [value_of(references, name) for name in names] == [1, 2, 2]


def test_a_name_of_nothing_says_where_was_looked_and_what_is_allowed(
    references: ModelReferences, tmp_path: Path
) -> None:
    looked = f"no model 'x': looked at {tmp_path / 'mine' / 'x'} and {tmp_path / 'x'}; allowed: clones/<id>"
    with pytest.raises(CheckpointError, match=re.escape(looked)):
        references.find("x")
    with pytest.raises(CheckpointError, match="there are no clones"):
        references.find("clones/0123")
    with pytest.raises(CheckpointError, match="no model 'checkpoints/latest'"):
        references.find("checkpoints/latest")


def test_a_registered_version_is_no_clone(references: ModelReferences) -> None:
    assert references.clone("models:/clones/3") is None
