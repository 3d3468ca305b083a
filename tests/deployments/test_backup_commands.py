"""``sparring backup`` and ``sparring restore`` as commands."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from app.cli import main
from tests.backup.project import project


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SPARRING_HOME", str(tmp_path / "home"))
    project(tmp_path / "home")
    return tmp_path / "home"


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(words)
    return int(str(ended.value.code))


def test_json_tells_what_was_taken_and_put_back(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    archive = tmp_path / "a.tar"
    assert run("backup", str(archive), "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["project"], told["trial"], told["files"]) == ("pong", None, 14)
    monkeypatch.setenv("SPARRING_HOME", str(tmp_path / "new"))
    assert run("restore", str(archive), "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["root"], told["paths_moved"], told["replaced"]) == (str(tmp_path / "new" / "pong"), 3, None)


def test_of_several_projects_one_is_to_be_named(home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project(home, "chess")
    assert run("backup", str(tmp_path / "a.tar")) == 1
    assert "holds the projects chess, pong; name one by --project" in capsys.readouterr().err
    assert run("backup", str(tmp_path / "a.tar"), "--project", "chess") == 0


def test_a_refusal_is_a_message_and_exit_code_1(home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("backup", str(tmp_path / "a.tar")) == 0
    assert run("restore", str(tmp_path / "a.tar")) == 1
    assert "already, and nothing is changed" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_backup_that_is_interrupted_leaves_nothing(home: Path, tmp_path: Path, number: signal.Signals) -> None:
    os.truncate(home / "pong" / "first" / "recordings" / "1.parquet", 2**31)  # Zeros, which take no room.
    out = tmp_path / "out"
    out.mkdir()
    command = [sys.executable, "-c", "from app.cli import main; main()", "backup", str(out / "a.tar")]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        end_s = time.monotonic() + 50
        while not any(path.stat().st_size > 2**20 for path in out.glob("a.tar.unfinished-*")):
            assert process.poll() is None
            assert time.monotonic() < end_s
            time.sleep(0.01)
        process.send_signal(number)
        assert process.wait(30) == {signal.SIGTERM: 143, signal.SIGINT: 130}[number]
    assert list(out.iterdir()) == []
