import re
from pathlib import Path

from train.bench.commands import bench
from train.bench.generator import Mode

PAGE = (Path(__file__).parents[3] / "docs" / "benchmarks.md").read_text(encoding="utf-8")


def test_the_page_explains_every_transport() -> None:
    table = PAGE.partition("| Transport |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == [str(mode) for mode in Mode]


def test_the_page_names_every_benchmark() -> None:
    table = PAGE.partition("| Name |")[2].partition("\n\n")[0]
    commands = {command.name or command.callback.__name__ for command in bench.registered_commands if command.callback}
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == commands
