"""``sparring search``: many configs, the best of which is written down."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from app.stages import Stages
from train.launch.stopping import Stopper
from train.search.plan import plan
from train.search.result import SearchResult
from train.search.search import Search
from train.search.watch import shown


def search(
    config: Annotated[Path, typer.Option(help="Config file with a search section.")],
    set_: Annotated[list[str] | None, typer.Option("--set", metavar="a.b=c", help="Override; may be repeated.")] = None,
) -> None:
    """Trains many configs, stops the bad ones early, and writes the best as a config; prints one JSON line at the end.

    Raises:
      SparringError: The config is wrong, or no trial came to its end.
    """
    stopper = Stopper()
    stopper.install()
    stages = Stages()
    searching = Search(plan(config, set_ or []), stopper, stages.tell)
    try:
        with stages:
            result = _run(searching, stopper)
    finally:
        if stopper.requested():
            stages.tell("interrupted")
            stopper.enforce()
    stages.console.print(_table(searching, result))
    sys.stdout.write(json.dumps(result.as_dict()) + "\n")


def _run(searching: Search, stopper: Stopper) -> SearchResult:
    """Returns the result; when the user has asked to stop, whatever fails on the way out is of no interest."""
    try:
        return searching.run()
    finally:
        try:
            searching.close()
        except Exception:
            if not stopper.requested():
                raise


def _table(searching: Search, result: SearchResult) -> Table:
    table = Table("trial", title=f"best: {result.best_trial}, written to {result.best_config}")
    for heading in ("ended", "updates", "metric", "copies", "values"):
        table.add_column(heading)
    for name, candidate in sorted(searching.candidates.items()):
        metric = "-" if candidate.metric is None else f"{candidate.metric:.4g}"
        style = "bold" if name == result.best_trial else None
        table.add_row(
            name,
            candidate.ending,
            str(candidate.updates),
            metric,
            str(candidate.copies),
            shown(candidate.values),
            style=style,
        )
    return table
