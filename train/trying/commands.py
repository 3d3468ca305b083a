"""``sparring try``: one component alone, without Ray."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from train.trying.agents import try_agent
from train.trying.models import try_model
from train.trying.renders import try_render
from train.trying.report import Report
from train.trying.sources import try_source
from train.trying.trainers import try_trainer
from train.trying.wanted import config_of

try_ = typer.Typer(no_args_is_help=True, help="Runs one component alone, without Ray, and says what is wrong with it.")

Name = Annotated[str, typer.Argument(help="Name in the config, or package.module:name.")]
Config = Annotated[Path | None, typer.Option("--config", help="Config file; default: none, NAME is an import path.")]
Set = Annotated[list[str] | None, typer.Option("--set", metavar="a.b=c", help="Override; may be repeated.")]
Model = Annotated[
    str | None, typer.Option("--model", help="Model, or what builds one; default: the component's, or the only one.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Prints one line of JSON.")]
Input = Annotated[Path | None, typer.Option("--input", help="Recording to draw; default: a made-up game.")]
Seconds = Annotated[float, typer.Option(min=0.01, help="How long each speed is measured, in seconds.")]


@try_.command("model")
def model_(name: Name, config: Config = None, set_: Set = None, seconds: Seconds = 0.2, json_: AsJson = False) -> None:
    """Asks a network about random observations: shapes, finite answers, observations a second."""
    _tell(try_model(config_of(config, set_ or []), name, seconds), as_json=json_)


@try_.command("agent")
def agent_(
    name: Name,
    config: Config = None,
    set_: Set = None,
    model: Model = None,
    games: Annotated[int, typer.Option(min=1, help="Made-up sessions.")] = 4,
    ticks: Annotated[int, typer.Option(min=1, help="Ticks of each of them.")] = 64,
    input_: Annotated[
        Path | None,
        typer.Option("--input", help="Recording, or a file with the body of a tick in each line; default: made up."),
    ] = None,
    json_: AsJson = False,
) -> None:
    """Lets an agent play sessions: answers, errors, ticks a second, and whether its state can move."""
    _tell(try_agent(config_of(config, set_ or []), name, model, games, ticks, input_), as_json=json_)


@try_.command("source")
def source_(
    name: Name,
    config: Config = None,
    set_: Set = None,
    model: Model = None,
    rows: Annotated[int, typer.Option(min=2, help="Rows of a batch.")] = 1024,
    batches: Annotated[int, typer.Option(min=1, help="Batches that are read.")] = 4,
    json_: AsJson = False,
) -> None:
    """Reads the first batches of a source: whether they fit the model, what they hold, rows a second."""
    _tell(try_source(config_of(config, set_ or []), name, model, rows, batches), as_json=json_)


@try_.command("trainer")
def trainer_(
    name: Name,
    config: Config = None,
    set_: Set = None,
    model: Model = None,
    updates: Annotated[int, typer.Option(min=1, help="Updates, each from one batch.")] = 8,
    json_: AsJson = False,
) -> None:
    """Takes some updates from made-up games and the trainer's sources: metrics, finite losses, rows a second."""
    _tell(try_trainer(config_of(config, set_ or []), name, model, updates), as_json=json_)


@try_.command("render")
def render_(
    name: Annotated[str, typer.Argument(help="Agent and render as agent.render, or package.module:name.")],
    config: Config = None,
    set_: Set = None,
    model: Model = None,
    input_: Input = None,
    png: Annotated[Path | None, typer.Option(help="File for the picture of the first step; default: none.")] = None,
    seconds: Seconds = 0.2,
    json_: AsJson = False,
) -> None:
    """Draws the steps of a game: what a render gives, and how long a picture takes."""
    _tell(try_render(config_of(config, set_ or []), name, model, input_, png, seconds), as_json=json_)


def _tell(report: Report, *, as_json: bool) -> None:
    """Prints a report; the exit code is 1 where it tells of problems."""
    if as_json:
        typer.echo(json.dumps(report.as_dict()))
    else:
        _show(report)
    if report.problems:
        raise typer.Exit(1)


def _show(report: Report) -> None:
    table = Table(title=report.component, show_header=False)
    for name, value in report.facts.items():
        table.add_row(name.replace("_", " "), "-" if value is None else str(value))
    console = Console(soft_wrap=True)
    console.print(table)
    for problem in report.problems:
        console.print(problem, style="red", markup=False, highlight=False)
    if not report.problems:
        console.print("OK", style="green")
