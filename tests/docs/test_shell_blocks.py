"""Commands that no page's own test runs are run here as they stand, with what the page says that the reader has."""

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

import app.client
from app.cli import main
from app.league.about import write_about
from deployments.port import free_port
from tests.client.background import service_in_thread
from tests.client.fake_service import FakeSession
from tests.league.leagues import freeze
from tests.league.test_keeping import SETTINGS, Kept
from tests.tracked import until

from . import test_curl_blocks
from .blocks import Fenced, block_of, blocks, commands
from .readme import ROOT, Block, Terminal, reader_env

GAME_PORT = "http://127.0.0.1:36390"
CPP = Path(app.client.__file__).parent / "cpp"
ANSWERED_S = 20.0
BUILT_S = 200.0


def run(block: Fenced) -> bool:
    """Returns whether a block is run here, or its curl lines are beside this file."""
    found = any(page == block.page and text in block.text for page, text in (*COMMANDS, *LISTENING, CMAKE))
    return block.language in {"bash", "sh", "cmake"} and (found or test_curl_blocks.run(block))


def sparring(*words: str) -> int:
    """Runs a command in this process, and returns its exit code."""
    with pytest.raises(SystemExit) as ended:
        main(words)
    return int(ended.value.code or 0)


def prints_the_folder_of_the_client(text: str, capsys: Any) -> None:
    python = re.sub(r"^python", sys.executable, text)
    done = subprocess.run(["/bin/bash", "-euc", python], capture_output=True, text=True, timeout=ANSWERED_S, check=True)
    assert (Path(done.stdout.strip()) / "CMakeLists.txt").is_file()


def plays_games_of_two_seats(text: str, capsys: Any) -> None:
    def first_allowed(session: FakeSession) -> int:
        return session.steps[-1][2]["action_mask"].index(1)

    with service_in_thread(first_allowed) as service:
        for words in commands(Fenced("", 1, "sh", text)):
            assert sparring(*words[1:], "--url", service.url) == 0
    agents = [session.rpartition("-")[2] for session in service.sessions]
    assert (agents.count("player"), agents.count("random")) == (100, 100)
    assert {session.purpose for session in service.sessions.values()} == {"evaluate"}


def shows_and_exports_a_league(text: str, capsys: Any) -> None:
    """No trial runs, which the first line is about: there ``game.trial`` is named, and found by its files."""
    trial = Path.home() / ".sparring" / "game" / "trial"
    kept = Kept(trial / "league")
    write_about(trial / "league", SETTINGS)
    freeze(kept.league, "main")
    kept.play(3)
    lines = [line.partition("#")[0].split() for line in text.splitlines()]
    assert len(lines) == 4
    for words in lines:
        named = [*words[1:], "game.trial"] if words == ["sparring", "league", "show"] else words[1:]
        assert sparring(*(str(Path(word).expanduser()) for word in named)) == 0
        if "show" in words:
            assert "main:1" in capsys.readouterr().out
    assert Path("standings.csv").read_text(encoding="utf-8").startswith("player,frozen,role,")


def looks_at_this_machine(text: str, capsys: Any) -> None:
    Path("configs").symlink_to(ROOT / "configs")
    (words,) = commands(Fenced("", 1, "bash", text))
    assert sparring(*words[1:]) in {0, 1}  # 1 where somebody uses the ports, or the machine lacks what is needed.
    assert "game port of main" in capsys.readouterr().out


def finds_the_size_of_a_batch(text: str, capsys: Any) -> None:
    """A machine that is slow or busy answers no batch within 2 ms, which the command says."""
    Path("configs").symlink_to(ROOT / "configs")
    (words,) = commands(Fenced("", 1, "bash", text))
    code = sparring(*words[1:])
    told = capsys.readouterr()
    assert "models.main.batching" in told.out if code == 0 else "answered within 2 ms" in told.err, told


COMMANDS: dict[tuple[str, str], Callable[[str, Any], None]] = {
    ("docs/clients/cpp.md", "import app.client"): prints_the_folder_of_the_client,
    ("docs/multi-agent.md", "sparring simulate"): plays_games_of_two_seats,
    ("docs/league.md", "sparring league"): shows_and_exports_a_league,
    ("docs/operations.md", "sparring doctor"): looks_at_this_machine,
    ("docs/models.md", "sparring tune"): finds_the_size_of_a_batch,
}
"""What runs the block of a page that holds a text."""
LISTENING = {
    ("docs/bridges.md", "sparring bridge godot"): "11008",
    ("docs/bridges.md", "sparring bridge unity"): "5004",
    ("docs/bridges.md", "sparring bridge rllink"): "5556",
    ("docs/monitoring.md", "prometheus --config.file"): "9090",
}
"""Blocks that serve until Ctrl-C, and the port that they serve on."""
CMAKE = ("docs/clients/cpp.md", "add_subdirectory")


@pytest.mark.parametrize(
    ("page", "text"), [pytest.param(*key, marks=[pytest.mark.slow] * ("tune" in key[1])) for key in COMMANDS]
)
def test_a_command_does_what_its_page_says(
    page: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    own = {"HOME": tmp_path, "SPARRING_HOME": tmp_path / ".sparring", "RAY_ADDRESS": f"127.0.0.1:{free_port()}"}
    for name, value in own.items():  # Nobody answers at that address, whatever else runs on this machine.
        monkeypatch.setenv(name, str(value))
    COMMANDS[page, text](block_of(page, text).text, capsys)


@pytest.mark.slow
@pytest.mark.parametrize(("page", "text"), LISTENING)
def test_what_serves_listens_on_its_port_and_ends_with_ctrl_c(page: str, text: str, tmp_path: Path) -> None:
    commands = block_of(page, text).text
    if shutil.which(commands.split()[0]) is None and commands.startswith("prometheus"):
        pytest.skip("prometheus is missing: apt-get install prometheus")
    port, listens = str(free_port()), LISTENING[page, text]
    (tmp_path / "logs").mkdir()
    (tmp_path / "configs").symlink_to(ROOT / "configs")
    (tmp_path / "config.pkl").write_bytes(b"opaque")
    (names,) = [block for block in blocks("json") if block.page == "docs/bridges.md"]
    (tmp_path / "names.json").write_text(names.text, encoding="utf-8")
    terminal = Terminal(tmp_path, tmp_path / "logs", reader_env(tmp_path / "home"))
    with service_in_thread() as service:
        typed = commands.replace(GAME_PORT, service.url).replace(f"--port {listens}", f"--port {port}")
        if listens not in commands:  # Prometheus' own.
            typed = f"{typed.strip()} --web.listen-address=127.0.0.1:{port}\n"
        terminal.do(Block(typed, "", ("port", port)))
        if "prometheus" in typed:
            ready = f"http://127.0.0.1:{port}/-/ready"
            until(lambda: httpx.get(ready, timeout=10).status_code == 200)  # It listens before it minds a Ctrl-C.
        terminal.stop_all()


@pytest.mark.cpp
def test_a_cmake_project_finds_the_client_by_the_lines_of_the_page(tmp_path: Path) -> None:
    head = "cmake_minimum_required(VERSION 3.21)\nproject(game CXX)\nadd_executable(my_game main.cpp)\n"
    lines = block_of(*CMAKE, "cmake").text.replace("path/to/cpp", str(CPP))
    (tmp_path / "CMakeLists.txt").write_text(head + lines, encoding="utf-8")
    (tmp_path / "main.cpp").write_text("#include <sparring/client.h>\nint main() { sparring::Options options; }\n")
    for words in (["-S", str(tmp_path), "-B", str(tmp_path / "build")], ["--build", str(tmp_path / "build")]):
        subprocess.run(["/usr/bin/env", "cmake", *words], capture_output=True, check=True, timeout=BUILT_S)
    subprocess.run([str(tmp_path / "build" / "my_game")], check=True, timeout=ANSWERED_S)
