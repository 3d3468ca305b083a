"""``sparring tune``: finds the size of batch with the largest throughput within a latency."""

import json as json_lines
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from app.config.load import load
from app.stages import Stages
from train.tune.tune import Plan
from train.tune.tune import tune as measure_tune


def tune(
    config: Annotated[Path, typer.Option(help="Config file.")],
    model: Annotated[str, typer.Option(help="Model of the config.")] = "main",
    latency_ms: Annotated[
        float, typer.Option(help="Longest time of 99 of 100 batches, in milliseconds.", min=0.0)
    ] = 2.0,
    max_rows: Annotated[int, typer.Option(help="Largest batch that is tried.", min=1)] = 256,
    seconds: Annotated[
        float, typer.Option(help="Length of each of the 5 windows of a size, in seconds.", min=0.01)
    ] = 0.2,
    set_: Annotated[list[str] | None, typer.Option("--set", metavar="a.b=c", help="Override; may be repeated.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the JSON line alone.")] = False,
) -> None:
    """Measures a model at growing sizes of batch and says what to put into the config.

    Raises:
      SparringError: The config is wrong, or no size is fast enough.
    """
    plan = Plan(model, latency_ms, max_rows, seconds)
    with Stages() as stages:
        result = measure_tune(load(config, set_ or []), plan, stages.tell)
    if json:
        sys.stdout.write(json_lines.dumps(result) + "\n")
        return
    _show(result, stages.console)
    sys.stdout.write(f"{result['set']}\n")


def _show(result: dict[str, object], console: Console) -> None:
    table = Table("precision", title=f"model {result['tune']}, at most {result['latency_ms']:g} ms")
    for heading in ("rows", "observations/s", "p50 ms", "p99 ms", ""):
        table.add_column(heading, justify="right")
    sizes, chosen = result["sizes"], result["best"]
    for size in sizes if isinstance(sizes, list) else []:
        rate = size["observations_per_s"]
        spread = "" if rate["measured"] else " (spread too large)"
        cells = (str(size["rows"]), f"{rate['median']:,.0f}{spread}", str(size["p50_ms"]), str(size["p99_ms"]))
        table.add_row(size["precision"], *cells, "best" if size == chosen else "")
    console.print(table)
