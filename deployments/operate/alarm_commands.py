"""``sparring alarms``: what checks have found in a running trial."""

import json
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Annotated

import typer

from app.checks.alarm import Alarm
from app.errors import ServiceNotFoundError
from app.stores.names import PREFIX
from app.stores.trial import Trial
from deployments.operate.cluster import cluster
from deployments.operate.finding import one_trial


def alarms(
    of: Annotated[str | None, typer.Argument(help="project.trial; may be left out where one trial runs.")] = None,
    json_: Annotated[bool, typer.Option("--json", help="Prints JSON.")] = False,
) -> None:
    """Shows what checks have found in a running trial, the newest first.

    Raises:
      SparringError: No Ray cluster can be reached, or the trial does not run.
    """
    with cluster():
        namespace = one_trial(
            of, "", lambda names: ServiceNotFoundError(f"{of or 'no trial'} runs on this cluster; running are: {names}")
        )
        told = Trial(namespace).alarms.told_now()
    trial = namespace.removeprefix(PREFIX)
    if json_:
        found = [alarm.as_dict() for alarm in told.alarms]
        sys.stdout.write(json.dumps({"trial": trial, "alarms": found, "forgotten": told.forgotten}) + "\n")
    else:
        sys.stdout.writelines(f"{line}\n" for line in lines(trial, told.alarms, time.time()))


def lines(trial: str, alarms: Sequence[Alarm], now_s: float) -> Iterator[str]:
    """Yields alarms as lines of text."""
    if not alarms:
        yield f"no check of {trial} has found anything"
    for alarm in alarms:
        of = f" (model {alarm.model})" if alarm.model else ""
        yield f"{now_s - alarm.time_s:.0f} s ago, {alarm.source}{of}, {alarm.action}: {alarm}"
        yield from (f"    {detail}" for detail in alarm.details)
