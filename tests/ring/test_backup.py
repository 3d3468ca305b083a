"""A backup that is taken while training goes on can be gone on from elsewhere, and its champion is the same."""

import json
from pathlib import Path

import pytest

from app.cli import main
from app.home import state_root
from app.models.content import content_hash
from app.models.saved import META, WEIGHTS, read_model
from app.stores.mlflow_store import ModelRegistry, tracking_uri
from app.stores.model_sources import ModelSources
from train.checkpoint import Checkpoints
from train.mlflow_run import MlflowRun, TrackedTrial

from .service import Cluster, Service, observation, playing, wait_until
from .training import training, updates

pytestmark = pytest.mark.ray
NAME = "cartpole.main"
LONG_S = 240.0
"""Longest wait for the first checkpoint, on a busy machine."""


def run(*words: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*words, "--json"])
    assert ended.value.code == 0, words


def refused(*words: str) -> bool:
    with pytest.raises(SystemExit) as ended:
        main(words)
    return ended.value.code == 1


def registry(home: Path) -> ModelRegistry:
    return ModelRegistry(tracking_uri(None, home), home)


def files(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in (META, WEIGHTS)}


@pytest.mark.long
def test_training_goes_on_from_a_restored_backup_and_the_champion_is_the_same(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    archive = tmp_path / "backup.tar"
    with Service(cluster, "saved") as service:
        checkpoints = Checkpoints(service.home / "saved" / "checkpoints" / "main")
        often = "trainers.main.checkpoints.every_s=0.5"
        with playing(service.url, games=32), training(service, service.home, often):
            wait_until(checkpoints.newest, "a checkpoint", LONG_S)
            champion = registered(service.home, tmp_path)
            run("backup", str(archive), "--project", "cartpole", "--trial", "saved")
            last = updates(service, bool, "updates")[-1].number
            updates(service, lambda seen: seen[-1].number > last, "training goes on")
            assert refused("restore", str(archive), "--overwrite")
            assert "cartpole.saved runs and would write over what is restored" in capsys.readouterr().err
    monkeypatch.setenv("SPARRING_HOME", str(tmp_path / "elsewhere"))
    run("restore", str(archive))
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    home = state_root("cartpole")
    assert told["root"] == str(home)
    assert told["paths_moved"] > 0

    got = registry(home).download(f"models:/{NAME}@champion", tmp_path / "downloaded")
    assert got.is_relative_to(tmp_path / "downloaded")
    assert files(got) == files(champion)

    newest = Checkpoints(home / "saved" / "checkpoints" / "main").newest_state()
    assert newest is not None
    with Service(cluster, "saved") as service, playing(service.url, games=32), training(service, home, resume=True):
        seen = newest.updates  # The first report is of the checkpoint's own update, which was published again.
        first = wait_until(lambda: service.trial.metrics.updates_after(seen), "the resumed run updates", LONG_S)[0]
    assert first.number == newest.updates + 1

    uri = f"models:/{NAME}@champion"
    with Service(cluster, "deployed", f"models.main.checkpoint={uri}", "run.mode=deploy") as service:
        assert service.step(body=observation()).status_code == 200
        served = ModelSources(service.config, home).read(uri).saved
    wanted = read_model(champion)
    assert content_hash(served.arrays, served.spec_hash) == content_hash(wanted.arrays, wanted.spec_hash)


def registered(home: Path, folder: Path) -> Path:
    """Registers the newest checkpoint as the champion, and returns a copy of what was registered."""
    checkpoint = Checkpoints(home / "saved" / "checkpoints" / "main").newest()
    assert checkpoint is not None
    kept = folder / "champion"
    kept.mkdir()
    for name, data in files(checkpoint).items():
        (kept / name).write_bytes(data)
    tracked = MlflowRun(tracking_uri(None, home), home, TrackedTrial("cartpole", "saved", {}))
    tracked.open()
    registry(home).register(NAME, kept, str(tracked.run_id), {}, "champion")
    return kept
