"""docs/first-five-minutes.md: its lines are those of the files, and no more than they are to be."""

import re
import shlex
import subprocess
import sys
from collections import defaultdict
from importlib.util import find_spec
from pathlib import Path

import pytest
from typer.testing import CliRunner

from app.projects.writing import write_project
from train.trying.commands import try_

from .lines import counted, cpp_lines, python_lines, yaml_values
from .readme import ROOT, blocks, shows

PAGE = (ROOT / "docs" / "first-five-minutes.md").read_text(encoding="utf-8")
TEMPLATES = ROOT / "app" / "projects" / "templates"
LIBRARIES = ("Sparring", "RLlib", "SB3", "Bray")
ROWS = {
    "a game: its rules": "rules",
    "training on it": "training",
    "a game server in Python": "server",
    "a game server in C++": "C++",
    "an algorithm": "algorithm",
    "a deployment": "deployment",
}
"""Beginnings of the table's rows, and what the list of counted files calls them."""
GAME_LINES, ALGORITHM_LINES = 40, 60
COUNTED = re.findall(r"^\| ([\w+]+) \| (\w+) \| `([^`]+)`[^|]*\| (\d+) \|$", PAGE, re.MULTILINE)
SHORTEST = re.search(r"```yaml\n(.*?)```", PAGE, re.DOTALL)[1]  # type: ignore[index]  # The page has one.


def here(library: str, name: str) -> Path | None:
    """Returns where a counted file lies on this machine, None where it does not."""
    if library == "Sparring":
        return TEMPLATES / name.removeprefix("templates/")
    found = find_spec("ray")
    if library != "RLlib" or not name.startswith("rllib/") or found is None or not found.submodule_search_locations:
        return None
    return Path(found.submodule_search_locations[0]) / name


def cells(beginning: str) -> list[str]:
    (row,) = (line for line in PAGE.splitlines() if line.startswith(f"| {beginning}"))
    return [cell.strip() for cell in row.strip("|").split("|")][1:]


def test_every_file_that_is_here_has_the_lines_that_the_page_says() -> None:
    checked = 0
    for _, library, name, said in COUNTED:
        if name == "configs/small.yaml":
            assert yaml_values(SHORTEST) == int(said)
        elif path := here(library, name):
            assert counted(path) == int(said), f"{library}: {name}"
            checked += 1
    assert checked == 14


@pytest.mark.parametrize(("beginning", "key"), ROWS.items())
def test_the_table_adds_up_what_was_counted(beginning: str, key: str) -> None:
    code, values = defaultdict[str, int](int), defaultdict[str, int](int)
    for row, library, name, lines in COUNTED:
        if row == key:
            (values if name.endswith(".yaml") else code)[library] += int(lines)
    for library, cell in zip(LIBRARIES, cells(beginning), strict=True):
        with_values = f"{code[library]} + {values[library]}"
        expected = with_values if values[library] else str(code[library]) if code[library] else "-"
        nothing_more = key == "deployment" and library == "Bray"
        assert cell == ("0" if nothing_more else expected), f"{beginning}: {library}"


def test_a_game_and_an_algorithm_are_no_longer_than_they_are_to_be() -> None:
    assert counted(TEMPLATES / "common/mygame/game.py") <= GAME_LINES
    algorithm = counted(TEMPLATES / "rl/mygame/algorithm.py") + counted(TEMPLATES / "rl/configs/own.yaml")
    assert algorithm <= ALGORITHM_LINES
    assert f"at most {GAME_LINES} lines" in PAGE
    assert f"at most {ALGORITHM_LINES} lines" in PAGE


def test_what_the_text_counts_is_so() -> None:
    game, core = (counted(TEMPLATES / "common/mygame" / name) for name in ("game.py", "core.py"))
    assert f"rules and server are {game + core} lines" in PAGE
    network, agents = (counted(TEMPLATES / "common/mygame" / name) for name in ("model.py", "agent.py"))
    base, rl = counted(TEMPLATES / "common/configs/base.yaml"), counted(TEMPLATES / "rl/configs/rl.yaml")
    assert f"{network + agents} + {base + rl}" in PAGE
    assert f"`templates/common/mygame/model.py` ({network}) and `agent.py` ({agents})" in PAGE
    whole = (TEMPLATES / "common/cpp/game_core.cpp").read_text(encoding="utf-8")
    rules = cpp_lines(re.findall(r"^struct Game.*?^};", whole, re.DOTALL | re.MULTILINE)[0])
    assert f"the rules ({rules} lines), the loop ({cpp_lines(whole) - rules})" in PAGE


def test_the_commands_are_those_of_the_project() -> None:
    make, shown = blocks(PAGE)
    for line in make.commands.splitlines():
        subprocess.run([*shlex.split(line), "-n"], cwd=ROOT, capture_output=True, timeout=20, check=True)
    program, *words = shlex.split(shown.commands)
    assert program == "python"
    done = subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, text=True, timeout=20, check=True)
    assert shows(done.stdout, shown.output)


def test_the_shortest_config_trains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_project("orchard", "rl", tmp_path / "orchard")
    monkeypatch.chdir(tmp_path / "orchard")
    Path("configs/small.yaml").write_text(SHORTEST, encoding="utf-8")
    words = ["trainer", "main", "--config", "configs/small.yaml", "--updates", "1"]
    result = CliRunner().invoke(try_, words, catch_exceptions=False)
    assert result.exit_code == 0, result.output


def test_a_line_of_python_is_a_statement() -> None:
    assert python_lines('"""Told."""\n\nimport os  # Why.\n\ndef f(\n    x,\n):\n    """Told."""\n    return x\n') == 3
    assert python_lines("x = (\n    1\n    + 2\n)\n# Nothing.\n") == 1


def test_a_line_of_cpp_holds_more_than_a_brace() -> None:
    assert cpp_lines("// Told.\n/* Told,\n   too. */\nint f() {\n    return 1;  // One.\n}\n\n};\n") == 2


def test_a_line_of_yaml_is_a_value() -> None:
    assert yaml_values("a: {b: 1, c: [2, 3]}\nd: {}\ne:\n  # Told.\n  f: null\n") == 5


def test_a_part_of_a_file_is_counted_and_an_unknown_one_refused(tmp_path: Path) -> None:
    file = tmp_path / "file.py"
    file.write_text("import os\n\n\nclass A:\n    x = 1\n", encoding="utf-8")
    assert counted(file, "A") == 2
    with pytest.raises(ValueError, match="no class or function 'B'"):
        counted(file, "B")
    with pytest.raises(ValueError, match="allowed are"):
        counted(ROOT / "LICENSE")
