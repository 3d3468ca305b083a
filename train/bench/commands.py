"""``sparring bench NAME``."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from train.bench.solve import main_line, solve


class Benchmark(StrEnum):
    """What can be measured."""

    SOLVE = "solve"


def bench(
    name: Annotated[Benchmark, typer.Argument(help="What to measure.")],
    config: Annotated[Path, typer.Option(help="Config file with a launch section.")] = Path("configs/rl.yaml"),
    seeds: Annotated[int, typer.Option(help="Launches, each with a seed of its own.", min=1)] = 3,
    set_: Annotated[list[str] | None, typer.Option("--set", metavar="a.b=c", help="Override; may be repeated.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the JSON line alone.")] = False,
) -> None:
    """Measures, next to the limit of the same machine in the same run; the last line is JSON."""
    result = {Benchmark.SOLVE: solve}[name](config, range(seeds), set_ or [])
    if not json:
        table = Table(title=f"bench {name}", show_header=False)
        for key, value in result.items():
            table.add_row(key.replace("_", " "), str(value))
        Console(stderr=True).print(table)
    sys.stdout.write(main_line(result) + "\n")
