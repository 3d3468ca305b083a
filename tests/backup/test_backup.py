"""A backup holds what is whole, at one moment, or is not there at all."""

import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tarfile
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from app.backup import contents
from app.backup.archive import new_archive
from app.backup.backup import back_up
from app.backup.reading import ArchiveReader
from app.errors import BackupError

from .project import checkpoint, project


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SPARRING_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def quiet(line: str) -> None:
    """Takes what is told."""


def names(archive: Path) -> set[str]:
    with ArchiveReader(archive) as reader:
        return {entry.path for entry in reader.manifest.files}


def test_a_backup_takes_what_is_whole_and_leaves_out_what_is_being_written(home: Path, tmp_path: Path) -> None:
    project(home)
    back_up(tmp_path / "a.tar", "pong", None, quiet)
    checkpoints: set[str] = set()
    for number in (1, 2):
        folder = f"first/checkpoints/main/000001-000000000{number}"
        checkpoints |= {f"{folder}/model.json", f"{folder}/weights.safetensors"}
    assert names(tmp_path / "a.tar") == checkpoints | {
        "mlflow.db",
        "artifacts/0/config.yaml",
        "first/checkpoints/main/tables/rollouts/000001-0000000002/0.npz",
        "first/clones/c0ffee/model.json",
        "first/clones/c0ffee/weights.safetensors",
        "first/weights/main.safetensors",
        "first/recordings/1.parquet",
        "first/mlflow_unsent/a.unsent",
        "first/league/league.json",
        "first/league/journal-00000001.log",
    }
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.tar", "home"]
    assert (tmp_path / "a.tar").stat().st_mode & 0o777 == 0o600


def test_a_backup_leaves_the_locks_of_its_own_process_on_a_database_alone(home: Path, tmp_path: Path) -> None:
    project(home)
    file = home / "pong" / "mlflow.db"
    last = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('SELECT 1 FROM runs').fetchall(); c.close()"
    )
    with closing(sqlite3.connect(file)) as ours:
        ours.execute("INSERT INTO runs VALUES (7, '', 'in the log')")
        ours.commit()
        back_up(tmp_path / "a.tar", "pong", None, quiet)
        subprocess.run([sys.executable, "-c", last, file], check=True, timeout=30)
        assert file.with_name("mlflow.db-wal").exists()  # Else the other process took itself for the last user.
        assert (7,) in ours.execute("SELECT id FROM runs").fetchall()


def test_one_trial_is_taken_with_what_belongs_to_all(home: Path, tmp_path: Path) -> None:
    root = project(home)
    shutil.copytree(root / "first", root / "second")
    back_up(tmp_path / "a.tar", "pong", "second", quiet)
    assert {name.partition("/")[0] for name in names(tmp_path / "a.tar")} == {"mlflow.db", "artifacts", "second"}


def test_the_torn_end_of_a_leagues_journal_is_left_out(home: Path, tmp_path: Path) -> None:
    root = project(home)
    back_up(tmp_path / "a.tar", "pong", None, quiet)
    with ArchiveReader(tmp_path / "a.tar") as reader:
        (entry,) = [entry for entry in reader.manifest.files if entry.path.endswith("journal-00000001.log")]
    assert entry.size_bytes == (root / "first" / "league" / "journal-00000001.log").stat().st_size - 3


def test_what_an_open_transaction_has_not_committed_is_not_in_the_copy(home: Path, tmp_path: Path) -> None:
    root = project(home)
    with closing(sqlite3.connect(root / "mlflow.db")) as writer:
        writer.execute("INSERT INTO runs VALUES (100, '', '')")
        back_up(tmp_path / "a.tar", "pong", None, quiet)
        writer.commit()
    with ArchiveReader(tmp_path / "a.tar") as reader:
        reader.unpack(tmp_path / "out")
    with closing(sqlite3.connect(tmp_path / "out" / "mlflow.db")) as copy:
        assert copy.execute("SELECT count(*) FROM runs").fetchone() == (3,)
        assert copy.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    assert not (tmp_path / "out" / "mlflow.db-wal").exists()


def test_every_backup_has_a_whole_checkpoint_while_a_trainer_replaces_them(home: Path, tmp_path: Path) -> None:
    folder = project(home) / "first" / "checkpoints" / "main"
    stop = threading.Event()

    def train() -> None:
        number = 3
        while not stop.is_set():
            newer = checkpoint(folder, f"000001-{number:010d}", bytes([number % 256]) * 4096)
            for path in folder.glob("000001-*"):
                if path != newer:
                    path.rename(folder / f".unfinished-{path.name}")
                    shutil.rmtree(folder / f".unfinished-{path.name}")
            number += 1

    thread = threading.Thread(target=train)
    thread.start()
    try:
        for number in range(8):
            archive = tmp_path / f"{number}.tar"
            back_up(archive, "pong", None, quiet)
            found = sorted(name for name in names(archive) if name.startswith("first/checkpoints/main/000001-"))
            assert found
            assert [name.rpartition("/")[2] for name in found] == ["model.json", "weights.safetensors"] * (
                len(found) // 2
            )
    finally:
        stop.set()
        thread.join(20)


def test_a_checkpoint_that_is_removed_while_it_is_opened_is_left_out(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path / "pong" / "first" / "checkpoints" / "main", "000001-0000000001")
    going = contents.files(tmp_path / "pong", None)
    first = next(going)
    shutil.rmtree(folder)
    rest = list(going)
    assert {first.path.name, *(found.path.name for found in rest)} == {"model.json", "weights.safetensors"}
    assert list(contents.files(tmp_path / "pong", None)) == []


def test_what_does_not_exist_is_refused_with_what_does(home: Path, tmp_path: Path) -> None:
    project(home)
    with pytest.raises(BackupError, match=r"no project 'chess'.*there are: pong"):
        back_up(tmp_path / "a.tar", "chess", None, quiet)
    with pytest.raises(BackupError, match=r"no trial 'third'.*there are: first"):
        back_up(tmp_path / "a.tar", "pong", "third", quiet)


def test_nothing_is_overwritten_and_nothing_is_copied_into_itself(home: Path, tmp_path: Path) -> None:
    root = project(home)
    (tmp_path / "a.tar").write_text("mine")
    with pytest.raises(BackupError, match=r"there is .*a\.tar already"):
        back_up(tmp_path / "a.tar", "pong", None, quiet)
    assert (tmp_path / "a.tar").read_text() == "mine"
    with pytest.raises(BackupError, match="outside of it"):
        back_up(root / "a.tar", "pong", None, quiet)


def test_a_damaged_database_is_named_and_leaves_no_archive(home: Path, tmp_path: Path) -> None:
    root = project(home)
    with (root / "mlflow.db").open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * 4096)
    with pytest.raises(BackupError, match=r"mlflow\.db"):
        back_up(tmp_path / "a.tar", "pong", None, quiet)
    assert [path.name for path in tmp_path.iterdir()] == ["home"]


def test_a_disk_that_is_too_small_is_named_before_anything_is_copied(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project(home)
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=10))
    with pytest.raises(BackupError, match=r"the disk of .* has 0 MB free and the backup of .* may need"):
        back_up(tmp_path / "a.tar", "pong", None, quiet)


@pytest.fixture
def small_files() -> Iterator[None]:
    """Lets nothing write a file of more than half a MiB: the same to a writer as a disk that becomes full."""
    before, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**19, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    signal.signal(signal.SIGXFSZ, handler)


def test_a_disk_that_becomes_full_leaves_nothing_and_is_named(
    home: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    root = project(home)
    (root / "first" / "recordings" / "3.parquet").write_bytes(bytes(2**20))
    archive = tmp_path / "small" / "a.tar"
    request.getfixturevalue("small_files")
    with pytest.raises(BackupError, match=rf"the backup {archive} is not written: .*File too large; nothing is left"):
        back_up(archive, "pong", None, quiet)
    assert list(archive.parent.iterdir()) == []


def test_a_writer_that_is_killed_leaves_no_archive_and_the_next_one_removes_its_rest(
    home: Path, tmp_path: Path
) -> None:
    project(home)
    archive = tmp_path / "out" / "a.tar"
    code = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from app.backup.archive import new_archive\n"
        "with new_archive(Path(sys.argv[1])):\n"
        "    print('writing', flush=True)\n"
        "    time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(archive)], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"writing\n"
        with new_archive(archive.with_name("b.tar")):  # Another name: what somebody writes stays.
            assert len(list(archive.parent.glob("a.tar.unfinished-*"))) == 1
        os.kill(writer.pid, signal.SIGKILL)
    assert not archive.exists()
    assert len(list(archive.parent.glob("a.tar.unfinished-*"))) == 1
    back_up(archive, "pong", None, quiet)
    assert sorted(path.name for path in archive.parent.iterdir()) == ["a.tar", "b.tar"]


def test_an_archive_is_a_plain_tar_file_that_anybody_can_read(home: Path, tmp_path: Path) -> None:
    project(home)
    back_up(tmp_path / "a.tar", "pong", None, quiet)
    with tarfile.open(tmp_path / "a.tar") as tar:
        listed = tar.getnames()
    assert listed[0] == "files/mlflow.db"
    assert listed[-1] == "manifest.json"
