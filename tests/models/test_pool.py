"""Clones on disk: kept apart from what they were made of, stored once, found again."""

import json
import os
import re
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
import torch

from app.errors import CheckpointError
from app.models import pool as module
from app.models.content import content_hash
from app.models.folders import UNFINISHED
from app.models.module import to_arrays
from app.models.pool import ModelPool, Source
from app.models.saved import META, WEIGHTS, SavedModel
from tests.small_policy import small_policy

START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


class Clock:
    """A second later each time."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


def source(value: float = 1.0, origin: str = "checkpoints/000001-0000000007", parent: str | None = None) -> Source:
    arrays = {"w": np.full((2, 3), value, np.float32), "steps": np.array(3)}
    return Source(SavedModel("a:b", {"inputs": 2}, "0123", "1.7", arrays), origin, parent, 7)


@pytest.fixture
def pool(tmp_path: Path) -> ModelPool:
    return ModelPool(tmp_path / "clones", Clock())


def test_a_clone_is_read_as_it_was_made_also_by_another_process(pool: ModelPool, tmp_path: Path) -> None:
    made = pool.clone(source(), "main", frozen=True)
    assert (made.model, made.parent, made.step, made.frozen) == ("main", None, 7, True)
    assert (made.origin, made.created_at) == ("checkpoints/000001-0000000007", "2026-01-02T03:04:06.000000+00:00")
    assert made.hash == content_hash(source().saved.arrays, "0123")
    again = ModelPool(tmp_path / "clones")
    got = again.read(made.id)
    assert list(again.lineage()) == [made]
    assert (got.origin, got.parent, got.step) == (f"clones/{made.id}", made.id, 7)
    assert (got.saved.factory, got.saved.kwargs, got.saved.version) == ("a:b", {"inputs": 2}, "1.7")
    assert {name: x.tolist() for name, x in got.saved.arrays.items()} == {"w": [[1.0] * 3] * 2, "steps": 3}
    assert got.saved.arrays["steps"].shape == ()


def test_model_json_tells_parent_step_hash_kind_and_time(pool: ModelPool, tmp_path: Path) -> None:
    made = pool.clone(source(), "main", frozen=False)
    told = json.loads((tmp_path / "clones" / made.id / META).read_text())
    assert {name: told[name] for name in ("parent", "step", "hash", "frozen", "created_at")} == {
        "parent": None,
        "step": 7,
        "hash": made.hash,
        "frozen": False,
        "created_at": "2026-01-02T03:04:06.000000+00:00",
    }


def test_a_clone_of_a_clone_knows_all_its_ancestors(pool: ModelPool) -> None:
    first = pool.clone(source(), "main", frozen=True)
    second = pool.clone(pool.read(first.id), "main", frozen=False)
    third = pool.clone(pool.read(second.id), "main", frozen=True)
    lineage = pool.lineage()
    assert [above.id for above in lineage.ancestors(third.id)] == [second.id, first.id]
    assert lineage.children(first.id) == (second,)
    assert [one.id for one in (first, second, third)] == [first.id, f"{first.id}-2", f"{first.id}-3"]


def test_the_same_content_is_stored_once(pool: ModelPool) -> None:
    first = pool.clone(source(), "main", frozen=True)
    others = [pool.clone(pool.read(first.id), "main", frozen=False) for _ in range(2)]
    files = {(pool.folder(one.id) / WEIGHTS).stat().st_ino for one in (first, *others)}
    assert len(files) == 1
    assert (pool.folder(pool.clone(source(2.0), "main", frozen=True).id) / WEIGHTS).stat().st_ino not in files


def test_a_file_system_without_links_gets_copies(pool: ModelPool, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    first = pool.clone(source(), "main", frozen=True)
    second = pool.clone(pool.read(first.id), "main", frozen=True)
    shutil.rmtree(pool.folder(first.id))
    assert pool.read(second.id).saved.arrays["w"][0, 0] == 1


def test_a_clone_outlives_what_it_shares_its_weights_with(pool: ModelPool) -> None:
    first = pool.clone(source(), "main", frozen=True)
    second = pool.clone(pool.read(first.id), "main", frozen=True)
    shutil.rmtree(pool.folder(first.id))
    assert pool.read(second.id).saved.arrays["w"][0, 0] == 1
    assert pool.lineage().roots() == (second,)


def test_weights_that_are_damaged_are_not_shared(pool: ModelPool) -> None:
    first = pool.clone(source(), "main", frozen=True)
    spoil(pool.folder(first.id) / WEIGHTS)
    second = pool.clone(source(origin="elsewhere"), "main", frozen=True)
    assert pool.read(second.id).saved.arrays["w"][0, 0] == 1


def test_a_frozen_clone_of_the_same_is_made_once_a_trainable_one_each_time(pool: ModelPool) -> None:
    frozen = [pool.clone(source(), "main", frozen=True) for _ in range(2)]
    trainable = [pool.clone(source(), "main", frozen=False) for _ in range(2)]
    assert frozen[0] == frozen[1]
    assert len({one.id for one in (*frozen, *trainable)}) == 3


def test_a_frozen_clone_does_not_follow_a_step_of_its_parent(pool: ModelPool, tmp_path: Path) -> None:
    parent = small_policy(seed=3)
    live = Source(SavedModel("a:b", {}, "0123", "1.0", to_arrays(parent)), "live")
    made = pool.clone(live, "main", frozen=True)
    parent(torch.ones(4, 2)).value.sum().backward()
    with torch.no_grad():
        for parameter in parent.parameters():
            if parameter.grad is not None:
                parameter.sub_(0.1 * parameter.grad)
    assert content_hash(to_arrays(parent), "0123") != made.hash
    after_a_restart = ModelPool(tmp_path / "clones").read(made.id)
    assert content_hash(after_a_restart.saved.arrays, "0123") == made.hash


def spoil(path: Path) -> None:
    """Turns one bit of the last number: the file keeps its size and its header."""
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.unlink()
    path.write_bytes(data)


def without_parent(path: Path) -> None:
    meta = json.loads(path.read_text())
    del meta["parent"]
    path.write_text(json.dumps(meta))


def test_one_wrong_bit_in_the_weights_is_named(pool: ModelPool) -> None:
    made = pool.clone(source(), "main", frozen=True)
    spoil(pool.folder(made.id) / WEIGHTS)
    with pytest.raises(
        CheckpointError, match=f"{made.id} holds no model: its weights have the hash .* says {made.hash}"
    ):
        pool.read(made.id)


@pytest.mark.parametrize("damage", [lambda path: path.write_text("{"), without_parent])
def test_a_clone_whose_description_is_damaged_is_passed_over_and_by_name_refused(
    damage: Callable[[Path], object], pool: ModelPool, caplog: pytest.LogCaptureFixture
) -> None:
    broken = pool.clone(source(), "main", frozen=True)
    good = pool.clone(source(2.0), "main", frozen=True)
    folder = pool.folder(broken.id)
    damage(folder / META)
    assert list(pool.lineage()) == [good]
    assert f"a damaged clone is passed over: {folder}" in caplog.text
    with pytest.raises(CheckpointError, match=str(folder)):
        pool.read(broken.id)
    assert pool.clone(source(), "main", frozen=True).id == f"{broken.id}-2"


def test_an_unknown_clone_names_the_folder_and_what_is_there(pool: ModelPool, tmp_path: Path) -> None:
    with pytest.raises(
        CheckpointError, match=re.escape(f"{tmp_path / 'clones'}: there is no clone 'ff'; there are no")
    ):
        pool.read("ff")


def test_a_parent_that_is_not_in_the_pool_is_refused(pool: ModelPool) -> None:
    with pytest.raises(CheckpointError, match="there is no clone 'ff'; there are no clones"):
        pool.clone(source(parent="ff"), "main", frozen=True)
    assert len(pool.lineage()) == 0


def test_clones_that_are_made_at_the_same_time_get_ids_of_their_own(pool: ModelPool) -> None:
    with ThreadPoolExecutor(8) as threads:
        made = list(threads.map(lambda _: pool.clone(source(), "main", frozen=False), range(16)))
    assert len({one.id for one in made}) == len(pool.lineage()) == 16


def test_what_a_killed_writer_left_is_no_clone_and_goes_when_it_is_old(pool: ModelPool, tmp_path: Path) -> None:
    made = pool.clone(source(), "main", frozen=True)
    old, young = (tmp_path / "clones" / f"{UNFINISHED}{name}" for name in ("old", "young"))
    for left in (old, young):
        shutil.copytree(tmp_path / "clones" / made.id, left)
    os.utime(old, (0, 0))
    pool.clone(source(2.0), "main", frozen=True)
    assert (old.exists(), young.exists()) == (False, True)  # The young one may be under way.
    assert len(pool.lineage()) == 2


def test_a_disk_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "clones").write_text("a file where the folder should be")
    with pytest.raises(CheckpointError, match=f"cannot write a clone below {tmp_path / 'clones'}"):
        ModelPool(tmp_path / "clones").clone(source(), "main", frozen=True)


def test_an_id_that_is_always_taken_ends_in_an_error(pool: ModelPool, monkeypatch: pytest.MonkeyPatch) -> None:
    def taken(target: Path, _fill: object) -> None:
        target.mkdir(parents=True, exist_ok=True)
        raise FileExistsError(17, "File exists")

    monkeypatch.setattr(module, "write_folder", taken)
    monkeypatch.setattr(module, "TRIES_MAX", 3)
    with pytest.raises(CheckpointError, match="cannot find a free id"):
        pool.clone(source(), "main", frozen=True)
