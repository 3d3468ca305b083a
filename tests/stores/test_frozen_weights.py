"""Frozen clones without Ray: what a session asks for is what was set apart, whatever became of the live weights."""

from pathlib import Path

import numpy as np
import pytest
import ray

from app.errors import ModelMismatchError
from app.models.lineage import Clone
from app.models.pool import ModelPool, Source
from app.models.saved import WEIGHTS, SavedModel
from app.stores import frozen_weights as module
from app.stores.frozen_weights import FrozenWeights
from app.stores.weights import WeightStore
from app.types import Arrays, Version


@pytest.fixture(autouse=True)
def _no_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray, "put", lambda arrays: arrays)
    monkeypatch.setattr(ray, "get", lambda arrays: arrays)


def arrays(value: float) -> Arrays:
    return {"w": np.full(3, value, np.float32)}


def frozen(folder: Path, value: float, spec_hash: str = "hash", origin: str = "version 1.5 of m") -> Clone:
    saved = SavedModel("a:b", {}, spec_hash, "1.5", arrays(value))
    return ModelPool(folder).clone(Source(saved, origin), "m", frozen=True)


async def test_a_clone_is_found_by_the_version_that_follows_from_its_content(tmp_path: Path) -> None:
    first, second = frozen(tmp_path, 1.0), frozen(tmp_path, 2.0)
    assert first.version.frozen
    assert first.version != second.version
    store = FrozenWeights(tmp_path)
    for clone, value in ((first, 1.0), (second, 2.0), (first, 1.0)):
        found = await store.find(clone.version, "hash")
        assert found["w"].tolist() == [value] * 3  # type: ignore[index]
    assert await store.find(Version(0, 12345), "hash") is None


async def test_a_clone_that_may_be_trained_is_none(tmp_path: Path) -> None:
    saved = SavedModel("a:b", {}, "hash", "1.5", arrays(1.0))
    clone = ModelPool(tmp_path).clone(Source(saved, "elsewhere"), "m", frozen=False)
    assert await FrozenWeights(tmp_path).find(clone.version, "hash") is None


async def test_of_two_clones_of_one_content_either_will_do(tmp_path: Path) -> None:
    first, second = frozen(tmp_path, 1.0), frozen(tmp_path, 1.0, origin="elsewhere")
    assert first.id != second.id
    assert first.version == second.version
    assert await FrozenWeights(tmp_path).find(first.version, "hash") is not None


async def test_a_clone_of_another_network_or_a_damaged_one_is_refused(tmp_path: Path) -> None:
    other, broken = frozen(tmp_path, 1.0, "other"), frozen(tmp_path, 2.0)
    store = FrozenWeights(tmp_path)
    with pytest.raises(ModelMismatchError, match=f"another network: {other.id} has the shapes other"):
        await store.find(other.version, "hash")
    file = tmp_path / broken.id / WEIGHTS
    whole = bytearray(file.read_bytes())
    whole[-1] ^= 1
    file.unlink()
    file.write_bytes(whole)
    with pytest.raises(ModelMismatchError, match=r"cannot be played: .*the hash"):
        await store.find(broken.version, "hash")


async def test_room_is_made_by_those_that_were_asked_for_longest_ago(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clones = [frozen(tmp_path, value) for value in (1.0, 2.0, 3.0)]
    read: list[Path] = []
    real = module.read_model
    monkeypatch.setattr(module, "read_model", lambda folder: (read.append(folder), real(folder))[1])
    monkeypatch.setattr(module, "KEPT_BYTES", 2 * 3 * 4)
    store = FrozenWeights(tmp_path)
    for at in (0, 1, 0, 2, 0, 1):  # The third takes the room of the second.
        await store.find(clones[at].version, "hash")
    assert [folder.name for folder in read] == [clones[at].id for at in (0, 1, 2, 1)]


async def test_the_weight_store_answers_for_frozen_clones_as_for_its_own_versions(tmp_path: Path) -> None:
    clone = frozen(tmp_path / "clones", 7.0)
    store = WeightStore(str(tmp_path / "weights"), str(tmp_path / "clones"))
    await store.register("m", "hash")
    (got,) = await store.fetch("m", clone.version)
    assert got["w"].tolist() == [7.0] * 3  # type: ignore[index]
    assert await store.pin("m", clone.version) == clone.version
    await store.unpin("m", clone.version)
    assert await store.pin("m", Version(0, 12345)) is None
    assert await store.fetch("m", Version(0, 12345)) == []
    assert await store.newest("m") is None
