"""``sparring release``: what models that follow the registry play, and moving the champion."""

import json
import sys
from collections.abc import Mapping
from typing import Annotated, Any

import typer
from ray.exceptions import RayError

from app.errors import ReleaseError, first_line
from app.stores.names import PREFIX
from app.stores.releases_client import Operator
from app.stores.trial import Trial
from deployments.operate.cluster import cluster
from deployments.operate.finding import ASK_S, one_trial
from deployments.operate.releases import detail_lines

Statuses = Mapping[str, Mapping[str, Any]]

release = typer.Typer(
    name="release",
    no_args_is_help=True,
    help="Shows which released versions a service plays, and moves the champion.",
)

Model = Annotated[str | None, typer.Argument(help="Model of the config; may be left out where one is released.")]
OfTrial = Annotated[str | None, typer.Option("--trial", help="project.trial; default: the one that runs.")]
Json = Annotated[bool, typer.Option("--json", help="Prints JSON.")]


@release.command()
def status(model: Model = None, trial: OfTrial = None, json_: Json = False) -> None:
    """Shows champion, challenger and shadow, and what each did.

    Raises:
      SparringError: No Ray cluster can be reached, or the trial follows no registry.
    """
    with cluster():
        name, operator = _operator(trial)
        found = _statuses(operator)
    wanted = found if model is None else {model: found[_only(found, model)]}
    _show(name, wanted, json_)


@release.command()
def promote(
    model: Model = None,
    version: Annotated[int | None, typer.Option(help="Registered version; without one, the challenger.", min=1)] = None,
    trial: OfTrial = None,
    json_: Json = False,
) -> None:
    """Makes the challenger the champion; the one before is kept for rollback.

    Raises:
      SparringError: There is no challenger, it is refused or rolled back, or MLflow does not answer.
    """
    with cluster():
        name, operator = _operator(trial)
        own = _only(_statuses(operator), model)
        moved = operator.promote(own, version)
    _show(name, {own: moved}, json_)


@release.command()
def rollback(model: Model = None, trial: OfTrial = None, json_: Json = False) -> None:
    """Makes the champion before the last promotion the champion again.

    Raises:
      SparringError: None is known, or MLflow does not answer.
    """
    with cluster():
        name, operator = _operator(trial)
        own = _only(_statuses(operator), model)
        moved = operator.roll_back(own)
    _show(name, {own: moved}, json_)


def _operator(trial: str | None) -> tuple[str, Operator]:
    """Returns the name of a running trial, and what promotes versions of it."""
    namespace = one_trial(
        trial,
        " with --trial",
        lambda names: ReleaseError(f"{trial or 'no trial'} runs on this cluster; running are: {names}"),
    )
    return namespace.removeprefix(PREFIX), Trial(namespace).operator()


def _statuses(operator: Operator) -> Statuses:
    try:
        return operator.status(ASK_S)
    except RayError as error:
        reason = first_line(error)
        raise ReleaseError(f"the release store of the trial does not answer within {ASK_S:g} s: {reason}") from error


def _only(found: Statuses, model: str | None) -> str:
    """Returns the released model that is meant."""
    if model is None and len(found) == 1:
        return next(iter(found))
    if model is None or model not in found:
        what = "several models are released" if model is None else f"no model {model!r} is released"
        raise ReleaseError(f"{what}; allowed are: {', '.join(sorted(found)) or 'none'}")
    return model


def _show(trial: str, found: Statuses, json_: bool) -> None:
    if json_:
        sys.stdout.write(json.dumps({"trial": trial, "models": found}) + "\n")
        return
    sys.stdout.writelines(f"{line}\n" for model, one in found.items() for line in detail_lines(model, one))
