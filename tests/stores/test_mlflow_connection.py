import fcntl
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from alembic import command
from mlflow.exceptions import MlflowException
from mlflow.protos.databricks_pb2 import RESOURCE_DOES_NOT_EXIST, TEMPORARILY_UNAVAILABLE
from mlflow.store.db import utils
from mlflow.store.tracking.dbmodels.initial_models import Base

from app.errors import TrackingError
from app.stores import mlflow_connection, mlflow_sqlite
from app.stores.mlflow_store import artifact_location, check, prepare, tracking_uri

HALF_A_SCHEMA_BYTES = 100_000
"""Tables are there and more are to come: a whole one has above 900,000."""

EIGHT = """
import multiprocessing, os, sys
for name in ("PYTEST_CURRENT_TEST", "CI"):  # They would switch MLflow's telemetry off, too.
    os.environ.pop(name, None)
from pathlib import Path
from app.stores.mlflow_store import connect, prepare
from app.stores.mlflow_connection import failures

uri, root = sys.argv[1], Path(sys.argv[2])
failures()  # Imports MLflow once, so that the eight differ by milliseconds.
from mlflow.entities import Metric
from mlflow.store.tracking import sqlalchemy_store
from mlflow.telemetry.client import get_telemetry_client
assert get_telemetry_client() is None, "telemetry is on"

def start(name, barrier):
    barrier.wait(30)
    prepare(uri, root)
    client = connect(uri)
    run = client.create_run(client.create_experiment(name)).info.run_id
    for step in range(5):
        client.log_batch(run, [Metric(f"m{i}", 1.0, 1, step) for i in range(10)])

context = multiprocessing.get_context("fork")
barrier = context.Barrier(8)
processes = [context.Process(target=start, args=(f"p{i}", barrier)) for i in range(8)]
for process in processes:
    process.start()
for process in processes:
    process.join(40)
sys.exit(sum(process.exitcode != 0 for process in processes))
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("state")
    prepare(tracking_uri(None, root), root)
    return root


@pytest.fixture(scope="module")
def uri(root: Path) -> str:
    return tracking_uri(None, root)


def rows(database: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(database)) as connection:
        return connection.execute(query).fetchall()


def test_without_an_address_the_store_is_an_sqlite_file_under_the_root() -> None:
    assert tracking_uri(None, Path("/state/p")) == "sqlite:////state/p/mlflow.db"
    assert artifact_location("sqlite:////state/p/mlflow.db", Path("/state/p"), "p") == "file:///state/p/artifacts/p"


def test_a_relative_sqlite_file_lies_under_the_root_and_a_server_is_taken_as_it_is() -> None:
    assert tracking_uri("sqlite:///runs.db", Path("/state/p")) == "sqlite:////state/p/runs.db"
    assert tracking_uri("sqlite:////other/runs.db", Path("/state/p")) == "sqlite:////other/runs.db"
    assert tracking_uri("http://server:5000", Path("/state/p")) == "http://server:5000"
    assert artifact_location("http://server:5000", Path("/state/p"), "p") is None


def test_the_modules_alone_import_no_mlflow() -> None:
    code = "import sys, app.stores.mlflow_store, train.tracking; sys.exit('mlflow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=30, check=False).returncode == 0


@pytest.mark.mlflow
def test_eight_processes_may_start_at_once_on_one_new_file_and_send_no_telemetry(tmp_path: Path) -> None:
    uri = tracking_uri(None, tmp_path / "state")
    command = [sys.executable, "-c", EIGHT, uri, str(tmp_path / "state")]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=50, check=False)
    assert (answer.returncode, answer.stderr) == (0, "")
    assert rows(tmp_path / "state" / "mlflow.db", "select count(*) from metrics") == [(8 * 50,)]


@pytest.mark.mlflow
def test_a_process_that_is_killed_while_it_makes_the_database_leaves_nothing_in_the_way(tmp_path: Path) -> None:
    uri, file = tracking_uri(None, tmp_path), tmp_path / "mlflow.db"
    code = "import sys; from pathlib import Path; from app.stores.mlflow_store import prepare"
    words = [sys.executable, "-c", f"{code}; prepare(sys.argv[1], Path(sys.argv[2]))", uri, str(tmp_path)]
    with subprocess.Popen(words) as process:
        while process.poll() is None and _written(tmp_path) < HALF_A_SCHEMA_BYTES:
            time.sleep(0.001)
        process.kill()
    assert not file.exists()
    prepare(uri, tmp_path)
    assert list(tmp_path.glob("*unfinished*")) == []
    assert rows(file, "select name from experiments") == [("Default",)]


def _written(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob("mlflow.db.unfinished"))


def test_preparing_switches_the_write_ahead_log_on_and_may_be_repeated(uri: str, root: Path) -> None:
    prepare(uri, root)
    assert rows(root / "mlflow.db", "pragma journal_mode") == [("wal",)]


def test_an_older_schema_is_copied_and_migrated(tmp_path: Path) -> None:
    uri = tracking_uri(None, tmp_path)
    engine = utils.create_sqlalchemy_engine_with_retry(uri)
    Base.metadata.create_all(engine)
    with engine.begin() as connection:
        config = utils._get_alembic_config(uri)
        config.attributes["connection"] = connection
        command.upgrade(config, f"{utils._get_latest_schema_revision()}-1")
    old = utils._get_schema_version(engine)
    engine.dispose()
    prepare(uri, tmp_path)
    revision = "select version_num from alembic_version"
    assert rows(tmp_path / "mlflow.db", revision) == [(utils._get_latest_schema_revision(),)]
    assert rows(tmp_path / f"mlflow.db.{old}", revision) == [(old,)]


def test_a_lock_that_is_never_given_back_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mlflow_sqlite, "LOCK_TIMEOUT_S", 0.1)
    with (tmp_path / "mlflow.db.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(TrackingError, match=r"mlflow\.db\.lock"):
            prepare(tracking_uri(None, tmp_path), tmp_path)


def test_a_file_that_is_no_database_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    (tmp_path / "mlflow.db").write_text("these are not the rows you are looking for")
    with pytest.raises(TrackingError, match=r"mlflow\.db: the file is not an sqlite database"):
        check(tracking_uri(None, tmp_path))
    with pytest.raises(TrackingError, match="is not a folder"):
        check(tracking_uri(None, tmp_path / "mlflow.db" / "below"))
    with pytest.raises(TrackingError, match="it is not a file"):
        check(f"sqlite:///{tmp_path}")


def test_a_damaged_database_is_named(tmp_path: Path) -> None:
    file = tmp_path / "mlflow.db"
    with closing(sqlite3.connect(file)) as database:
        database.execute("CREATE TABLE t (x)")
        database.commit()
    damaged = bytearray(file.read_bytes())
    damaged[100:200] = b"\xff" * 100  # Behind the file's header: the head of its first page.
    file.write_bytes(damaged)
    with pytest.raises(TrackingError, match=r"cannot prepare the tracking store .*mlflow\.db"):
        prepare(tracking_uri(None, tmp_path), tmp_path)


def test_a_server_that_is_not_there_is_named_with_what_to_do_but_without_its_password() -> None:
    with pytest.raises(TrackingError, match=r"http://\*\*\*@127\.0\.0\.1:9 .*mlflow server") as caught:
        check("http://someone:secret@127.0.0.1:9")
    assert "secret" not in str(caught.value)


def test_another_kind_of_address_is_refused_with_those_allowed() -> None:
    with pytest.raises(TrackingError, match=r"postgresql://\*\*\*@host/db; allowed are null, sqlite:///"):
        check("postgresql://user:secret@host/db")


def test_a_refusal_is_told_from_a_failure_that_may_pass() -> None:
    assert mlflow_connection.is_refusal(MlflowException("no", error_code=RESOURCE_DOES_NOT_EXIST))
    assert not mlflow_connection.is_refusal(MlflowException("locked", error_code=TEMPORARILY_UNAVAILABLE))
    assert not mlflow_connection.is_refusal(OSError("broken pipe"))


def test_a_check_keeps_the_locks_that_this_process_holds(tmp_path: Path) -> None:
    file = tmp_path / "mlflow.db"
    with closing(sqlite3.connect(file)) as database:
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("CREATE TABLE t (x)")
        database.commit()
        check(f"sqlite:///{file}")
        other = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('SELECT * FROM t'); c.close()"
        subprocess.run([sys.executable, "-c", other, str(file)], check=True, timeout=30)
        assert file.with_name("mlflow.db-wal").exists(), "the other process took itself for the last one"
