"""A wall clock that is set forward or back ends no game: idle times and deadlines are measured by another one."""

import ast
import time
from pathlib import Path

import pytest

from tests.sessions.fake_agent import Table

ROOT = Path(__file__).parents[2]
MEASURING = ("app/sessions", "app/client", "deployments/listener")
ALSO = (
    "plane", "agents", "handover", "recovery", "forward", "members", "steps", "watchdog", "overseer", "pusher",
    "push_link",
)  # fmt: skip
SIGNS = {"signer.py"}
"""A token tells the time of day, and has to."""


def reads_of_the_wall_clock(file: Path) -> list[int]:
    found = []
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            read = (node.value.id, node.attr)
            found += [node.lineno] if read in {("time", "time"), ("datetime", "now")} else []
    return found


async def test_a_wall_clock_that_jumps_makes_no_game_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table(idle_timeout_s=60)
    await table.start(seq=0)
    for jump_s in (1e6, -1e6):
        now_s = time.time() + jump_s
        monkeypatch.setattr(time, "time", lambda now_s=now_s: now_s)
        await table.table.sweep()
        await table.tick(1, seq=1)
    assert len(table.table) == 1


@pytest.mark.parametrize("folder", MEASURING)
def test_whatever_measures_games_does_not_read_the_wall_clock(folder: str) -> None:
    files = sorted(file for file in (ROOT / folder).rglob("*.py") if file.name not in SIGNS)
    assert files
    assert {file.name: lines for file in files if (lines := reads_of_the_wall_clock(file))} == {}


@pytest.mark.parametrize("name", ALSO)
def test_nor_does_what_carries_them(name: str) -> None:
    assert reads_of_the_wall_clock(ROOT / "deployments" / f"{name}.py") == []


def test_the_reading_is_found_where_there_is_one(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import time\nbegun = time.time\nother = time.monotonic()\n")
    assert reads_of_the_wall_clock(tmp_path / "a.py") == [2]
