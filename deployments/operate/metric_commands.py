"""``sparring metrics``: what was measured anywhere in a running trial."""

import json
import sys
import time
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Final, cast

import typer
from ray.exceptions import RayError
from rich.console import Console, RenderableType
from rich.live import Live

from app.errors import ConfigError, ServiceNotFoundError
from app.metrics.query import Axis, MetricQuery, checked
from app.stores.metrics_client import Metrics
from app.stores.names import PREFIX
from app.stores.trial import Trial
from deployments.operate.cluster import cluster
from deployments.operate.finding import one_trial
from deployments.operate.metric_lines import names_shown, series_shown

WATCH_S: Final = 1.0
"""Seconds between two looks with ``--watch``: what processes report in."""
WIDTH: Final = 200
"""Columns of what is written into a file."""


def metrics(
    name: Annotated[str | None, typer.Argument(help="Metric; without one, all of them are listed.")] = None,
    trial: Annotated[str | None, typer.Option(help="project.trial; default: the one that runs.")] = None,
    label: Annotated[list[str] | None, typer.Option(metavar="K=V", help="Only this value; may be repeated.")] = None,
    by: Annotated[
        str | None, typer.Option(help="Labels that make groups, with commas; '' makes one of all; default: no groups.")
    ] = None,
    reduce: Annotated[str, typer.Option(help="mean, sum, rate, total, p99, histogram and so on, with commas.")] = "",
    window_s: Annotated[float | None, typer.Option(help="Seconds to look back; default: all since the start.")] = None,
    axis: Annotated[str, typer.Option(help="Of the points in JSON: time, step or samples.")] = "time",
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Goes on until Ctrl-C.")] = False,
    json_: Annotated[bool, typer.Option("--json", help="Prints JSON; with --watch an object a line.")] = False,
) -> None:
    """Lists the metrics of a running trial, or shows one by label: mean, rate, quantiles, histogram.

    Raises:
      SparringError: No Ray cluster can be reached, or there is no such trial or metric.
    """
    query = None if name is None else query_of_words(name, label or [], by, reduce, window_s, axis)
    with cluster():
        namespace = one_trial(
            trial,
            " by --trial",
            lambda names: ServiceNotFoundError(f"{trial or 'no trial'} runs on this cluster; running are: {names}"),
        )
        told, store = namespace.removeprefix(PREFIX), Trial(namespace).metrics
        try:
            _repeat(lambda: _looked(store, told, query), watch=watch, json_=json_)
        except RayError as error:
            raise ServiceNotFoundError(f"the stores of {told} do not answer: {type(error).__name__}") from error


def query_of_words(
    name: str, labels: Sequence[str], by: str | None, reduce: str, window_s: float | None, axis: str
) -> MetricQuery:
    """Returns the query that a command line means.

    Raises:
      ConfigError: A label is not of the form K=V.
      BadRequestError: Another part is not allowed.
    """
    for text in labels:
        if "=" not in text:
            raise ConfigError(f"--label is {text!r}; allowed is K=V, such as purpose=train")
    wanted = {text.partition("=")[0]: text.partition("=")[2] for text in labels}
    groups = None if by is None else _words(by)
    return checked(MetricQuery(name, wanted, groups, _words(reduce), window_s, cast("Axis", axis)))


def _looked(store: Metrics, trial: str, query: MetricQuery | None) -> tuple[dict[str, Any], RenderableType]:
    """Returns the answer of a trial, as JSON and to read."""
    if query is None:
        found = store.names_now()
        return {"trial": trial, "metrics": found}, names_shown(found, trial)
    series = store.query_now(query)
    since = "since the start" if query.window_s is None else f"of the last {query.window_s:g} s"
    return {"trial": trial, "series": series}, series_shown(series, f"{query.name} {since}")


def _repeat(look: Callable[[], tuple[dict[str, Any], RenderableType]], *, watch: bool, json_: bool) -> None:
    document, shown = look()
    if json_ or not (watch and sys.stdout.isatty()):
        while True:
            if json_:
                sys.stdout.write(json.dumps(document) + "\n")
                sys.stdout.flush()
            else:
                Console(width=None if sys.stdout.isatty() else WIDTH).print(shown, highlight=False)
            if not watch:
                return
            time.sleep(WATCH_S)
            document, shown = look()
    with Live(shown, auto_refresh=False) as live:
        while True:
            time.sleep(WATCH_S)
            live.update(look()[1], refresh=True)


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())
