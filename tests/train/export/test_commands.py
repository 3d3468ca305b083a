import json
from pathlib import Path

import numpy as np
import pytest

from app.errors import CheckpointError, ConfigError, ModelMismatchError, ReleaseRefusedError
from app.home import HOME_VARIABLE
from app.models.module import build_module, hash_of, to_arrays
from app.models.saved import SavedModel, write_model
from app.stores.mlflow_store import ModelRegistry, artifact_location, connect, prepare, tracking_uri
from train.export.commands import export, verify

pytestmark = pytest.mark.export

BASE = Path(__file__).parents[3] / "configs" / "base.yaml"
ARENA = BASE.with_name("arena.yaml")
FACTORY = "app.games.cartpole.model:build"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "home"))
    return tmp_path / "home"


def model_folder(folder: Path, seed: int = 4) -> Path:
    folder.mkdir()
    module = build_module(FACTORY, {}, seed)
    write_model(folder, SavedModel(FACTORY, {}, hash_of(module), "1.57", to_arrays(module)))
    return folder


def test_a_saved_model_is_exported_and_the_report_is_the_last_line(
    tmp_path: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = str(model_folder(tmp_path / "saved"))
    export(BASE, "main", tmp_path / "out", checkpoint=saved, json_=True)
    report = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (report["model"], report["version"], report["precision"]) == ("cartpole.main", "1.57", "fp32")
    assert (report["passed"], report["agreement"], report["observations"]) == (True, 1.0, "random")
    assert report == json.loads((tmp_path / "out" / "report.json").read_text())
    verify(BASE, "main", tmp_path / "out", checkpoint=saved)
    assert "plays like its network" in capsys.readouterr().out
    with pytest.raises(ReleaseRefusedError, match=r"differs from the network|same action as the network"):
        verify(BASE, "main", tmp_path / "out", checkpoint=str(model_folder(tmp_path / "other", seed=5)))


def test_a_release_below_the_gate_leaves_no_folder(tmp_path: Path, home: Path) -> None:
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "rows.npz", observation=rng.normal(size=(400, 10, 15)).astype(np.float32))
    with pytest.raises(ReleaseRefusedError, match=r"arena\.main in int8 .* of 400 recorded .* the gate is 99"):
        export(
            ARENA, "main", tmp_path / "out", checkpoint="untrained", precision="int8", calibration=tmp_path / "rows.npz"
        )
    assert not (tmp_path / "out").exists()
    export(
        ARENA, "main", tmp_path / "out", checkpoint="untrained", precision="int8", calibration=tmp_path / "rows.npz",
        gate=0.5,
    )  # fmt: skip
    spec = json.loads((tmp_path / "out" / "spec.json").read_text())
    assert spec["inputs"][0]["observed"]["low"] < -2


def test_what_is_asked_for_wrongly_is_named(tmp_path: Path, home: Path) -> None:
    with pytest.raises(ConfigError, match=r"has no model 'other'; it has main"):
        export(BASE, "other", tmp_path / "out")
    with pytest.raises(ConfigError, match="allowed are fp32, fp16, int8, int8-dynamic"):
        export(BASE, "main", tmp_path / "out", precision="int4")
    with pytest.raises(ConfigError, match="allowed is one of them"):
        export(BASE, "main", tmp_path / "out", version="3", checkpoint="untrained")
    with pytest.raises(CheckpointError, match="nowhere"):
        export(BASE, "main", tmp_path / "out", checkpoint="nowhere")
    saved = str(model_folder(tmp_path / "saved"))
    with pytest.raises(ModelMismatchError, match="saved"):
        export(BASE, "main", tmp_path / "out", checkpoint=saved, overrides=["models.main.kwargs.hidden=8"])


@pytest.mark.mlflow
def test_the_report_is_noted_at_the_registered_version(tmp_path: Path, home: Path) -> None:
    root = home / "cartpole"
    uri = tracking_uri(None, root)
    prepare(uri, root)
    client = connect(uri)
    experiment = client.create_experiment("cartpole", artifact_location=artifact_location(uri, root, "cartpole"))
    run = str(client.create_run(experiment).info.run_id)
    ModelRegistry(uri, root).register("cartpole.main", model_folder(tmp_path / "saved"), run, {}, "champion")
    export(BASE, "main", tmp_path / "out", version="champion", precision="fp16")
    found = client.get_model_version("cartpole.main", "1")
    assert found.tags["export.fp16"] == "passed"
    assert float(found.tags["export.fp16.agreement"]) > 0.99
    metrics = client.get_run(run).data.metrics
    assert metrics["export/fp16/agreement"] == pytest.approx(float(found.tags["export.fp16.agreement"]), abs=1e-6)
    assert {name.rpartition("/")[2] for name in metrics} == {
        "agreement", "max_abs_error", "value_error", "row_error", "bytes",
    }  # fmt: skip
    (artifact,) = client.list_artifacts(run, "exports/cartpole.main/1/fp16")
    local = Path(client.download_artifacts(run, artifact.path, str(tmp_path)))
    assert json.loads(local.read_text()) == json.loads((tmp_path / "out" / "report.json").read_text())
