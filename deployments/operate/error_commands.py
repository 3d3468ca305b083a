"""``sparring errors``: what went wrong anywhere in a running trial."""

import json
import sys
import time
from datetime import datetime
from typing import Annotated, Final, cast, get_args

import typer
from ray.exceptions import RayError

from app.errors import ConfigError, ServiceNotFoundError
from app.logs.errors import Kept, Severity, Wanted
from app.stores.errors import Errors
from app.stores.names import PREFIX
from app.stores.trial import Trial
from deployments.operate.cluster import cluster
from deployments.operate.finding import one_trial

FOLLOW_S: Final = 1.0
"""Seconds between two looks with ``--follow``."""


def errors(
    trial: Annotated[str | None, typer.Argument(help="project.trial; default: the one that runs.")] = None,
    level: Annotated[str, typer.Option(help="The least: error or warning.")] = "error",
    limit: Annotated[int, typer.Option(help="The newest so many.", min=1, max=10_000)] = 50,
    process: Annotated[str, typer.Option(help="Begin of a process's name: replica, learner, stores, driver.")] = "",
    session: Annotated[str, typer.Option(help="Of one session alone.")] = "",
    traceback: Annotated[bool, typer.Option("--traceback", help="With tracebacks.")] = False,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Goes on with new ones until Ctrl-C.")] = False,
    json_: Annotated[bool, typer.Option("--json", help="Prints JSON; with --follow an object a line.")] = False,
) -> None:
    """Shows the errors of replicas, trainers, stores, recorder and driver of a running trial, the newest last.

    Raises:
      SparringError: No Ray cluster can be reached, or there is no such trial.
    """
    if level not in get_args(Severity):
        raise ConfigError(f"--level is {level!r}; allowed are {', '.join(get_args(Severity))}")
    wanted = Wanted(cast("Severity", level), 0, limit, process, session)
    with cluster():
        namespace = one_trial(
            trial,
            "",
            lambda names: ServiceNotFoundError(f"{trial or 'no trial'} runs on this cluster; running are: {names}"),
        )
        client = Trial(namespace).errors
        name = namespace.removeprefix(PREFIX)
        try:
            found = client.newest_now(wanted)
            _show(name, found, traceback=traceback, json_=json_, follow=follow)
            while follow:
                time.sleep(FOLLOW_S)
                if found.newest:
                    wanted = wanted._replace(after=found.newest[-1].number)
                found = client.newest_now(wanted)
                _show_lines(found, traceback=traceback, json_=json_)
        except RayError as error:
            raise ServiceNotFoundError(f"the stores of {name} do not answer: {type(error).__name__}") from error


def _show(name: str, found: Errors, *, traceback: bool, json_: bool, follow: bool) -> None:
    if json_ and not follow:
        sys.stdout.write(json.dumps({"trial": name, **found.as_dict(traceback=traceback)}) + "\n")
        return
    _show_lines(found, traceback=traceback, json_=json_)
    if not found.newest and not json_:
        sys.stdout.write(
            f"{name}: nothing to show; since its start {found.counts['error']} errors and "
            f"{found.counts['warning']} warnings\n"
        )
    sys.stdout.flush()


def _show_lines(found: Errors, *, traceback: bool, json_: bool) -> None:
    for kept in found.newest:
        line = json.dumps(kept.as_dict(traceback=traceback)) if json_ else line_of(kept, traceback=traceback)
        sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def line_of(kept: Kept, *, traceback: bool) -> str:
    """Returns an error as a line: when, where, which session, how often, and what; with its traceback below it."""
    entry = kept.entry
    time_ = datetime.fromtimestamp(entry.time_s).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    parts = [time_, entry.level, entry.process or "-", entry.where]
    parts += [f"session {entry.session}"] if entry.session else []
    parts += [f"({kept.count} times)"] if kept.count > 1 else []
    line = f"{'  '.join(parts)}  {entry.message}"
    return f"{line}\n{entry.traceback.rstrip()}" if traceback and entry.traceback else line
