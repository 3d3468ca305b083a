"""``sparring status`` and ``sparring stop``."""

import json
import sys
from typing import Annotated

import typer

from app.errors import ConfigError
from app.stages import Stages
from app.stores.names import PREFIX
from deployments.operate.cluster import cluster
from deployments.operate.finding import running_namespaces, serve_applications, trials
from deployments.operate.stopping import stop as stop_trial
from deployments.operate.trials import chosen, lines


def status(json_: Annotated[bool, typer.Option("--json", help="Prints JSON.")] = False) -> None:
    """Shows which trials run on the Ray cluster: actors, ports, replicas, sessions, counters and weights.

    Raises:
      SparringError: No Ray cluster can be reached.
    """
    with cluster() as address:
        found = trials()
    if json_:
        _write({"cluster": address, "trials": [trial.as_dict() for trial in found]})
    elif found:
        sys.stdout.writelines(f"{line}\n" for line in lines(found))
    else:
        sys.stdout.write(f"nothing of Sparring runs on the Ray cluster at {address}\n")


def stop(
    trial: Annotated[str | None, typer.Argument(help="project.trial; default: the one that runs.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Stops all trials.")] = False,
    timeout_s: Annotated[float, typer.Option(help="Longest wait for each, in seconds.", min=1)] = 60.0,
    json_: Annotated[bool, typer.Option("--json", help="Prints JSON.")] = False,
) -> None:
    """Ends a trial's service: its games drain, then its Serve application and its stores go.

    Raises:
      SparringError: No Ray cluster can be reached, several trials run and none is named, or one does not end in time.
    """
    with cluster() as address:
        running = running_namespaces(serve_applications())
        try:
            namespaces = chosen(trial, running, everything=everything)
        except ValueError as error:
            raise ConfigError(str(error)) from error
        with Stages() as stages:
            stopped = []
            for namespace in namespaces:
                stages.tell(f"draining {namespace.removeprefix(PREFIX)}")
                stopped.append(stop_trial(namespace, timeout_s))
    if json_:
        _write({"cluster": address, "stopped": [done.as_dict() for done in stopped]})
        return
    for done in stopped:
        applications = ", ".join(done.applications) or "none"
        sys.stdout.write(f"stopped {done.trial}: applications {applications}, {done.sessions} open sessions\n")
    if not stopped:
        sys.stdout.write(f"nothing to stop: {trial or 'nothing of Sparring'} does not run at {address}\n")


def _write(document: object) -> None:
    sys.stdout.write(json.dumps(document) + "\n")
