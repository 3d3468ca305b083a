"""A trainable clone is trained: from its parent's weights, with checkpoints of its own, while a frozen one stays."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.config.load import load
from app.models.checkpoints import whole_checkpoints
from app.models.content import content_hash
from app.models.lineage import Clone
from app.models.module import build_module, hash_of, to_arrays
from app.models.pool import ModelPool, Source
from app.models.reference import ModelReferences
from app.models.saved import SavedModel
from app.stores.model_sources import ModelSources
from app.types import Version
from train.checkpoint import Checkpoints
from train.promote import Told, clone_version

from .service import RL, Cluster, Service, playing
from .training import trainer, wait_for_end

pytestmark = [pytest.mark.ray, pytest.mark.long]

TRIAL = "clones"
SEED = 77
"""Of the parent's weights; the config's own seed is another."""


@pytest.fixture(scope="module")
def home(cluster: Cluster) -> Path:
    return cluster.home / load(RL).run.project


@pytest.fixture(scope="module")
def frozen(home: Path) -> Clone:
    model = load(RL).models["main"]
    module = build_module(model.factory, model.kwargs, SEED)
    saved = SavedModel(model.factory, model.kwargs, hash_of(module), "0.0", to_arrays(module))
    return ModelPool(home / TRIAL / "clones").clone(Source(saved, "a test"), "main", frozen=True)


@pytest.fixture(scope="module")
def trainable(home: Path, frozen: Clone) -> Clone:
    pool = ModelPool(home / TRIAL / "clones")
    return pool.clone(pool.read(frozen.id), "main", frozen=False)


@pytest.fixture(scope="module")
def service(cluster: Cluster, trainable: Clone) -> Iterator[Service]:
    with Service(cluster, TRIAL, f"models.main.checkpoint=clones/{trainable.id}") as running:
        yield running


def test_a_trainable_clone_begins_with_its_parents_weights_and_saves_with_itself(
    service: Service, home: Path, frozen: Clone, trainable: Clone
) -> None:
    run = trainer(service, home, "trainers.main.max_updates=2")
    run.start()
    with playing(service.url):
        assert wait_for_end(run)
    newest = service.trial.weights("main").newest()
    assert newest is not None
    assert newest.number == 2  # The first of three is still kept.
    first = service.trial.weights("main").load(Version(newest.generation, 0))
    assert content_hash(first, hash_of(service.module(0))) == frozen.hash
    trained = ModelReferences(home, TRIAL).read(f"clones/{trainable.id}")
    assert (trained.step, trained.parent) == (2, trainable.id)
    assert _hash(trained.saved) != frozen.hash
    assert not (home / TRIAL / "checkpoints").exists()
    sources = ModelSources(service.config, home)
    told = Told(newest, 2, run.parent)
    child = clone_version(service.config, "main", service.trial, told, sources, frozen=True)
    assert (child.hash, child.parent, child.step) == (_hash(trained.saved), trainable.id, 2)
    kept = ModelPool(home / TRIAL / "clones").read(frozen.id).saved
    assert _hash(kept) == frozen.hash


def _hash(saved: SavedModel) -> str:
    return content_hash(saved.arrays, saved.spec_hash)


def test_a_start_that_reuses_keeps_what_exists_and_counts_anew(service: Service, home: Path, trainable: Clone) -> None:
    trainable_folder = home / TRIAL / "clones" / trainable.id / "checkpoints"
    checkpoints = Checkpoints(trainable_folder)
    before = checkpoints.newest_state()
    assert before is not None
    run = trainer(service, home, "trainers.main.checkpoints.on_existing=reuse", "trainers.main.max_updates=1")
    run.start()
    with playing(service.url):
        assert wait_for_end(run)
    after = checkpoints.newest_state()
    assert after is not None
    assert (before.updates, after.updates) == (2, 1)
    assert after.generation > before.generation
    assert len(whole_checkpoints(trainable_folder)) == 2
