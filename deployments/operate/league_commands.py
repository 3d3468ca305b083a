"""``sparring league``: who plays how well, of a running trial or of the files of one that has ended."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, TypeVar, cast, get_args

import typer
from rich.console import Console

from app.errors import ConfigError, LeagueError, SparringError
from app.home import trial_root
from app.league.export import Kind, MatchesKind, exported, exported_matches, read_report
from app.league.report import LeagueReport
from app.stores.league_client import LeagueClient
from app.stores.names import LEAGUE, PREFIX
from app.stores.trial import Trial
from deployments.operate.cluster import cluster
from deployments.operate.finding import one_trial
from deployments.operate.league_lines import shown

Told = TypeVar("Told")

WIDTH = 200
"""Columns of what is written into a file."""
KINDS = (*get_args(Kind), *get_args(MatchesKind))

league = typer.Typer(name="league", no_args_is_help=True, help="Shows who plays how well in a league.")

Of = Annotated[
    str | None,
    typer.Argument(help="project.trial, or its folder; may be left out where one trial runs."),
]


@league.command()
def show(
    of: Of = None,
    matches: Annotated[int, typer.Option(help="Newest finished matches to tell, in JSON.", min=0)] = 0,
    json_: Annotated[bool, typer.Option("--json", help="Prints JSON.")] = False,
) -> None:
    """Shows standings with ratings and their uncertainty, win rates, champion and counts.

    Raises:
      SparringError: There is no such league, or no Ray cluster can be reached.
    """
    name, report = _told(of, lambda folder: read_report(folder, matches), lambda client: client.show_now(matches))
    _show(name, report, json_)


@league.command()
def export(
    kind: Annotated[str, typer.Argument(help=f"One of {', '.join(KINDS)}.")],
    of: Of = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File; without one, standard output.")] = None,
) -> None:
    """Writes the league as JSON, its standings or win rates as CSV, or all matches that are kept as CSV or PGN.

    Raises:
      SparringError: There is no such league, the kind is none, or the file cannot be written.
    """
    if kind not in KINDS:
        raise ConfigError(f"a league is exported as one of {', '.join(KINDS)}; got {kind!r}")
    parts = _parts(kind, of)
    if output is None:
        sys.stdout.writelines(parts)
        return
    try:
        with output.open("w", encoding="utf-8") as file:
            file.writelines(parts)
    except OSError as error:
        raise LeagueError(f"cannot write {output}: {error}") from error


def league_folder(of: str | None) -> Path | None:
    """Returns the folder of a league: the one that is named, or that of the trial whose folder is named.

    None means that a running trial is meant.
    """
    if of is None or not Path(of).is_dir():
        return None
    below = Path(of) / LEAGUE
    return below if below.is_dir() else Path(of)


def _parts(kind: str, of: str | None) -> Iterator[str]:
    if kind in get_args(MatchesKind):
        _, folder = _told(of, lambda folder: folder, lambda client: client.folder_now())
        yield from exported_matches(cast("MatchesKind", kind), folder)
    else:
        _, report = _told(of, read_report, lambda client: client.show_now())
        yield exported(cast("Kind", kind), report)


def _told(
    of: str | None, by_folder: Callable[[Path], Told], by_client: Callable[[LeagueClient], Told]
) -> tuple[str, Told]:
    """Returns the name of a league and what is told of it: by the running trial, or by its files where none runs."""
    folder = league_folder(of)
    if folder is None:
        try:
            with _running(of) as (name, client):
                return name, by_client(client)
        except SparringError:
            folder = files_of(of)
            if folder is None:
                raise
    return str(folder), by_folder(folder)


def files_of(trial: str | None) -> Path | None:
    """Returns the folder of the league of ``project.trial``; None where there is none."""
    project, dot, name = (trial or "").partition(".")
    folder = trial_root(project, name) / LEAGUE if dot and name else None
    return folder if folder is not None and folder.is_dir() else None


@contextmanager
def _running(of: str | None) -> Iterator[tuple[str, LeagueClient]]:
    """Gives the name of a running trial and its league."""
    with cluster():
        namespace = one_trial(
            of,
            "",
            lambda names: LeagueError(
                f"{of or 'no trial'} runs on this cluster, and is no folder; running are: {names}"
            ),
        )
        yield namespace.removeprefix(PREFIX), Trial(namespace).league(wait_s=0.0)


def _show(name: str, report: LeagueReport, json_: bool) -> None:
    if json_:
        sys.stdout.write(json.dumps({"league": name, **report.as_dict()}) + "\n")
        return
    Console(width=None if sys.stdout.isatty() else WIDTH).print(shown(report, f"league {name}"), highlight=False)
