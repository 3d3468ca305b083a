"""A small project on disk, as a service and a trainer leave it."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from app.league.journal import Journal
from app.models.folders import write_folder


def checkpoint(folder: Path, name: str, fill: bytes = b"weights") -> Path:
    def written(there: Path) -> None:
        (there / "model.json").write_text(json.dumps({"name": name}))
        (there / "weights.safetensors").write_bytes(fill)

    write_folder(folder / name, written)
    return folder / name


def database(root: Path, rows: int = 3) -> Path:
    """Makes a database with a log beside it, whose values name places as MLflow's do."""
    file = root / "mlflow.db"
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE runs (id INTEGER PRIMARY KEY, artifact_uri VARCHAR(200), note TEXT)")
        for number in range(rows):
            uri = f"{root.as_uri()}/artifacts/{number}"
            connection.execute("INSERT INTO runs VALUES (?, ?, ?)", (number, uri, f"{root}x/other"))
    return file


def project(home: Path, name: str = "pong", trial: str = "first") -> Path:
    """Makes a project with a database, artifacts and one trial that has all kinds of files."""
    root = home / name
    folder = root / trial
    folder.mkdir(parents=True)
    database(root)
    (root / "mlflow.db.lock").touch()
    (root / "artifacts" / "0").mkdir(parents=True)
    (root / "artifacts" / "0" / "config.yaml").write_text("run: {}")
    checkpoint(folder / "checkpoints" / "main", "000001-0000000001")
    checkpoint(folder / "checkpoints" / "main", "000001-0000000002")
    checkpoint(folder / "clones", "c0ffee")
    table = folder / "checkpoints" / "main" / "tables" / "rollouts"
    write_folder(table / "000001-0000000002", lambda there: _empty(there / "0.npz"))
    (folder / "checkpoints" / "main" / ".unfinished-000001-0000000003-ab").mkdir()
    _empty(folder / "checkpoints" / "main" / ".unfinished-000001-0000000003-ab" / "model.json")
    (folder / "weights").mkdir()
    (folder / "weights" / "main.safetensors").write_bytes(b"newest")
    (folder / "weights" / ".main.unfinished").write_bytes(b"half")
    (folder / "recordings").mkdir()
    (folder / "recordings" / "1.parquet").write_bytes(b"game")
    (folder / "recordings" / "2.parquet.part").write_bytes(b"half a game")
    (folder / "ray_train").mkdir()
    _empty(folder / "ray_train" / "marker")
    (folder / "mlflow_unsent").mkdir()
    head = json.dumps({"schema_version": 1, "uri": f"sqlite:///{root}/mlflow.db"})
    (folder / "mlflow_unsent" / "a.unsent").write_text(f'{head}\n{{"loss": 1}}\n')
    league(folder / "league")
    return root


def league(folder: Path) -> None:
    journal = Journal(folder, 1, fsync=False)
    journal.append(b"begun")
    journal.close()
    (folder / "league.json").write_text("{}")
    with (folder / "journal-00000001.log").open("ab") as file:
        file.write(b"\0\0\0")  # A record whose writing has begun.


def _empty(path: Path) -> None:
    path.write_bytes(b"x")
