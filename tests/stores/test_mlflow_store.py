from pathlib import Path

import pytest
from mlflow.models import Model

from app.errors import TrackingError
from app.stores.mlflow_store import ModelRegistry, artifact_location, connect, prepare, tracking_uri


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("state")
    prepare(tracking_uri(None, root), root)
    return root


@pytest.fixture(scope="module")
def uri(root: Path) -> str:
    return tracking_uri(None, root)


def new_run(uri: str, root: Path, project: str) -> str:
    client = connect(uri)
    experiment = client.create_experiment(project, artifact_location=artifact_location(uri, root, project))
    return str(client.create_run(experiment).info.run_id)


def model_folder(parent: Path, weights: bytes) -> Path:
    parent.mkdir(parents=True)
    (parent / "weights.safetensors").write_bytes(weights)
    (parent / "model.json").write_text("{}")
    return parent


def test_a_model_comes_back_by_alias_by_version_and_as_the_latest(uri: str, root: Path, tmp_path: Path) -> None:
    run, registry = new_run(uri, root, "roundtrip"), ModelRegistry(uri, root)
    for number, alias in ((1, "champion"), (2, "challenger")):
        folder = model_folder(tmp_path / alias, weights=bytes([number]))
        assert registry.register("roundtrip.model", folder, run, {"updates": "7"}, alias) == number
    wanted = {"@champion": 1, "@challenger": 2, "@latest": 2, "/1": 1}
    got = {
        end: registry.download(f"models:/roundtrip.model{end}", tmp_path / f"to{index}")
        for index, end in enumerate(wanted)
    }
    assert {end: (folder / "weights.safetensors").read_bytes()[0] for end, folder in got.items()} == wanted
    assert connect(uri).get_model_version("roundtrip.model", "1").tags == {"updates": "7"}


def test_an_alias_moves_to_the_version_registered_last(uri: str, root: Path, tmp_path: Path) -> None:
    run, registry = new_run(uri, root, "moving"), ModelRegistry(uri, root)
    for number in (1, 2):
        registry.register("moving.model", model_folder(tmp_path / str(number), bytes([number])), run, {}, "champion")
    got = registry.download("models:/moving.model@champion", tmp_path / "to")
    assert (got / "weights.safetensors").read_bytes() == b"\2"


def test_mlflow_itself_can_read_what_was_registered(uri: str, root: Path, tmp_path: Path) -> None:
    run, registry = new_run(uri, root, "mlmodel"), ModelRegistry(uri, root)
    registry.register("mlmodel.model", model_folder(tmp_path / "model", b""), run, {}, "latest")
    model = Model.load(str(registry.download("models:/mlmodel.model@latest", tmp_path / "to")))
    assert model.run_id == run
    assert model.flavors == {"sparring": {"config": "model.json", "weights": "weights.safetensors"}}


def test_a_missing_model_version_or_alias_lists_what_there_is(uri: str, root: Path, tmp_path: Path) -> None:
    run, registry = new_run(uri, root, "listed"), ModelRegistry(uri, root)
    registry.register("listed.model", model_folder(tmp_path / "model", b""), run, {}, "champion")
    for end in ("@chalenger", "/9"):
        with pytest.raises(TrackingError, match="versions 1 and the aliases champion, latest"):
            registry.download(f"models:/listed.model{end}", tmp_path / "to")
    with pytest.raises(TrackingError, match=r"it holds the models .*listed\.model"):
        registry.download("models:/unlisted.model@champion", tmp_path / "to")


@pytest.mark.parametrize("text", ["listed.model", "models:/listed.model", "models:/a/b/c", "models:/it's@champion"])
def test_a_malformed_model_address_says_how_one_is_written(text: str, uri: str, root: Path, tmp_path: Path) -> None:
    with pytest.raises(TrackingError, match="models:/name@alias or models:/name/3"):
        ModelRegistry(uri, root).download(text, tmp_path)


def test_registering_under_an_unknown_run_says_so(uri: str, root: Path, tmp_path: Path) -> None:
    with pytest.raises(TrackingError, match=r"under run 0123.*not found"):
        ModelRegistry(uri, root).register("x.model", model_folder(tmp_path / "model", b""), "0123", {}, "champion")
