"""Pages of recorded games as artifacts of a run."""

from pathlib import Path

import pytest

from app.errors import TrackingError
from app.stores.mlflow_connection import connect, prepare, tracking_uri
from app.stores.mlflow_replays import attach_replay

pytestmark = pytest.mark.mlflow


def test_a_page_is_an_artifact_of_its_run(tmp_path: Path) -> None:
    uri = tracking_uri(None, tmp_path)
    prepare(uri, tmp_path)
    client = connect(uri)
    experiment = client.create_experiment("game", artifact_location=(tmp_path / "artifacts").as_uri())
    run_id = client.create_run(experiment).info.run_id
    assert attach_replay(uri, run_id, "one", "<!doctype html>ü") == "replays/one.html"
    found = client.download_artifacts(run_id, "replays/one.html", str(tmp_path))
    assert Path(found).read_text(encoding="utf-8") == "<!doctype html>ü"
    with pytest.raises(TrackingError, match=r"cannot attach replays/one\.html to run none"):
        attach_replay(uri, "none", "one", "")
