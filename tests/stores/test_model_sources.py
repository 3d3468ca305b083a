"""Models by name, also registered ones: those become clones of the trial."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from app.config.load import load
from app.config.root import ExperimentConfig
from app.errors import CheckpointError, TrackingError
from app.models.pool import ModelPool, Source
from app.models.saved import SavedModel, write_model
from app.stores.mlflow_store import ModelRegistry, RegisteredVersion, artifact_location, connect, prepare, tracking_uri
from app.stores.model_sources import ModelSources

RL = Path(__file__).parents[2] / "configs" / "rl.yaml"
NAME = "cartpole.main"


def saved(value: float) -> SavedModel:
    return SavedModel("a:b", {}, "0123", "1.7", {"w": np.full(2, value, np.float32)})


@pytest.fixture(scope="module")
def config() -> ExperimentConfig:
    return load(RL, ["run.trial=mine"])


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with two registered versions, the first of them the champion."""
    home = tmp_path_factory.mktemp("project")
    uri = tracking_uri(None, home)
    prepare(uri, home)
    client = connect(uri)
    run = client.create_run(client.create_experiment("p", artifact_location=artifact_location(uri, home, "p")))
    for value, alias in ((1.0, "champion"), (2.0, "challenger")):
        folder = home / f"model {value}"
        folder.mkdir()
        write_model(folder, saved(value), {"step": 10 * int(value)})
        ModelRegistry(uri, home).register(NAME, folder, run.info.run_id, {"step": str(value)}, alias)
        shutil.rmtree(folder)
    return home


@pytest.mark.mlflow
def test_a_registered_version_is_read_under_its_number(config: ExperimentConfig, home: Path) -> None:
    got = ModelSources(config, home).read(f"models:/{NAME}@champion")
    assert (got.origin, got.step, got.parent) == (f"models:/{NAME}/1", 10, None)
    assert got.saved.arrays["w"].tolist() == [1, 1]


@pytest.mark.mlflow
def test_a_registered_version_that_must_stay_becomes_a_frozen_clone_once(config: ExperimentConfig, home: Path) -> None:
    sources = ModelSources(config, home)
    folders = {sources.folder(f"models:/{NAME}{end}", "main") for end in ("@champion", "/1", "@challenger")}
    origins = {clone.origin: (clone.frozen, clone.step, clone.model) for clone in sources.pool.lineage()}
    assert origins == {f"models:/{NAME}/1": (True, 10, "main"), f"models:/{NAME}/2": (True, 20, "main")}
    assert len(folders) == 2


@pytest.mark.mlflow
def test_a_registered_clone_is_known_as_the_parent_where_it_is_there(config: ExperimentConfig, home: Path) -> None:
    pool = ModelPool(home / "mine" / "clones")
    clone = pool.clone(Source(saved(5.0), "x"), "main", frozen=True)
    uri = tracking_uri(None, home)
    run = connect(uri).search_runs(["1"])[0].info.run_id
    number = ModelRegistry(uri, home).register(NAME, pool.folder(clone.id), run, {}, "cloned")
    assert ModelSources(config, home).read(f"models:/{NAME}/{number}").parent == clone.id
    elsewhere = config.model_copy(update={"run": config.run.model_copy(update={"trial": "other"})})
    assert ModelSources(elsewhere, home).read(f"models:/{NAME}/{number}").parent is None


def test_names_of_files_need_no_registry(config: ExperimentConfig, tmp_path: Path) -> None:
    clone = ModelPool(tmp_path / "mine" / "clones").clone(Source(saved(3.0), "x"), "main", frozen=True)
    sources = ModelSources(config, tmp_path)
    assert sources.read(f"clones/{clone.id}").saved.arrays["w"].tolist() == [3, 3]
    assert sources.folder(f"clones/{clone.id}", "main") == tmp_path / "mine" / "clones" / clone.id
    assert not (tmp_path / "mlflow.db").exists()


@pytest.mark.mlflow
def test_what_is_not_there_names_what_is(config: ExperimentConfig, home: Path) -> None:
    with pytest.raises(TrackingError, match=rf"no models:/{NAME}@loser in .*aliases .*champion"):
        ModelSources(config, home).read(f"models:/{NAME}@loser")
    with pytest.raises(CheckpointError, match="no model 'nothing'"):
        ModelSources(config, home).read("nothing")


@pytest.mark.mlflow
def test_versions_are_listed_newest_first_with_aliases_and_tags(home: Path) -> None:
    registry = ModelRegistry(tracking_uri(None, home), home)
    oldest = registry.versions(NAME)[-1]
    assert oldest == RegisteredVersion(1, ["champion"], {"step": "1.0"})
    assert [version.number for version in registry.versions(NAME)][-2:] == [2, 1]
    assert registry.versions("cartpole.nothing") == []
    assert registry.exact(f"models:/{NAME}@challenger") == f"models:/{NAME}/2"
