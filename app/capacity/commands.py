"""``sparring plan``: how many machines some games take, by figures that were measured."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from app.capacity.costs import costs_of
from app.capacity.from_config import with_config
from app.capacity.machine import read_machine
from app.capacity.plan import plan_of
from app.capacity.reading import read_measured
from app.capacity.simulation.check import check
from app.capacity.told import as_dict, table_of
from app.capacity.workload import Learning, Margins, Model, ModelName, Placement, Transport, Workload
from app.config.load import load

_PLAY, _MODEL, _LEARN, _MARGINS = "Games", "Model", "Learning", "Margins"


def plan(
    games: Annotated[int, typer.Option(help="Games at once.", min=1, rich_help_panel=_PLAY)],
    measured: Annotated[
        list[Path], typer.Option(help="File with JSON lines of sparring bench NAME --json; may be repeated.")
    ],
    machine: Annotated[Path, typer.Option(help="YAML file of the machine: cores, gpus, memory_gb, network, price.")],
    tick_hz: Annotated[
        float, typer.Option(help="Ticks of a session, per second.", min=1e-6, rich_help_panel=_PLAY)
    ] = 10,
    sessions: Annotated[int, typer.Option(help="Sessions of a game.", min=1, rich_help_panel=_PLAY)] = 1,
    transport: Annotated[Transport, typer.Option(help="How ticks travel.", rich_help_panel=_PLAY)] = "http",
    body_bytes: Annotated[int, typer.Option(help="Body of a tick, bytes.", min=0, rich_help_panel=_PLAY)] = 64,
    reply_bytes: Annotated[int, typer.Option(help="Body of an answer, bytes.", min=0, rich_help_panel=_PLAY)] = 64,
    think_ms: Annotated[
        float, typer.Option(help="Least milliseconds from an answer to the next tick.", min=0, rich_help_panel=_PLAY)
    ] = 0,
    latency_ms: Annotated[
        float,
        typer.Option(help="Milliseconds within which 99 of 100 ticks are answered.", min=0, rich_help_panel=_PLAY),
    ] = 50,
    config: Annotated[
        Path | None,
        typer.Option(help="Config with placement, batches, training, which rules over the options; default: none."),
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="a.b=c", help="Override of the config; may be repeated.")
    ] = None,
    model: Annotated[
        ModelName, typer.Option(help="Measured network that stands for yours.", rich_help_panel=_MODEL)
    ] = "mlp",
    placement: Annotated[
        Placement, typer.Option(help="In the actor replicas, or in replicas of its own.", rich_help_panel=_MODEL)
    ] = "local",
    decision_us: Annotated[
        float | None,
        typer.Option(help="CPU microseconds of a decision of your network; default: measured.", rich_help_panel=_MODEL),
    ] = None,
    weights_mb: Annotated[float, typer.Option(help="Weights, MiB.", min=0, rich_help_panel=_MODEL)] = 1,
    observation_bytes: Annotated[
        int, typer.Option(help="Observation on its way to a remote model, bytes.", min=0, rich_help_panel=_MODEL)
    ] = 512,
    gpu_decisions_per_s: Annotated[
        float | None,
        typer.Option(help="Decisions a second of a GPU (sparring gpu-check); default: cores.", rich_help_panel=_MODEL),
    ] = None,
    learn: Annotated[bool, typer.Option(help="Whether rows are learned from.", rich_help_panel=_LEARN)] = False,
    share: Annotated[
        float, typer.Option(help="Share of the ticks that become rows.", min=1e-6, max=1, rich_help_panel=_LEARN)
    ] = 1,
    row_bytes: Annotated[int, typer.Option(help="Size of a row, bytes.", min=1, rich_help_panel=_LEARN)] = 64,
    batch_rows: Annotated[int, typer.Option(help="Rows of a worker's batch.", min=2, rich_help_panel=_LEARN)] = 1024,
    epochs: Annotated[int, typer.Option(help="Passes over a batch.", min=1, rich_help_panel=_LEARN)] = 4,
    unroll_ticks: Annotated[int, typer.Option(help="Ticks of a trajectory.", min=1, rich_help_panel=_LEARN)] = 64,
    publish_every_updates: Annotated[
        int, typer.Option(help="Updates from a publish to the next.", min=1, rich_help_panel=_LEARN)
    ] = 1,
    max_policy_lag: Annotated[
        int, typer.Option(help="Oldest row that is learned from, versions.", min=0, rich_help_panel=_LEARN)
    ] = 8,
    gpu_samples_per_s: Annotated[
        float | None,
        typer.Option(help="Samples a second of a GPU (sparring gpu-check); default: cores.", rich_help_panel=_LEARN),
    ] = None,
    lost_nodes: Annotated[
        int, typer.Option(help="Nodes that may be lost at a time.", min=0, rich_help_panel=_MARGINS)
    ] = 1,
    utilisation: Annotated[
        float,
        typer.Option(help="Largest busy share of an actor replica.", min=0.01, max=0.95, rich_help_panel=_MARGINS),
    ] = 0.6,
    utilisation_after_loss: Annotated[
        float, typer.Option(help="The same share while nodes are lost.", min=0.01, max=0.98, rich_help_panel=_MARGINS)
    ] = 0.85,
    helpers: Annotated[
        float,
        typer.Option(
            help="Largest share of models, learners, shards, memory, network.",
            min=0.01,
            max=1,
            rich_help_panel=_MARGINS,
        ),
    ] = 0.7,
    replica_mb: Annotated[
        float, typer.Option(help="Memory of an empty process, MiB.", min=0, rich_help_panel=_MARGINS)
    ] = 400,
    recover_us: Annotated[
        float,
        typer.Option(help="CPU microseconds to take a game up from its snapshot.", min=0, rich_help_panel=_MARGINS),
    ] = 2000,
    variation: Annotated[
        float,
        typer.Option(
            help="Squared coefficient of variation of a tick's CPU: 0 always the same, 1 exponential.",
            min=0,
            max=4,
            rich_help_panel=_MARGINS,
        ),
    ] = 0.5,
    simulate: Annotated[bool, typer.Option(help="Play the plan through.")] = True,
    seed: Annotated[int, typer.Option(help="Of the simulation.", min=0)] = 0,
    json_: Annotated[bool, typer.Option("--json", help="Print the JSON line alone.")] = False,
) -> None:
    """Tells how many machines some games take, what they cost, and whether the plan holds; ends with a JSON line.

    Raises:
      SparringError: A figure is missing, a file is wrong, or no number of machines holds it.
    """
    learning = Learning(
        share, "ddp", batch_rows, epochs, row_bytes, unroll_ticks,
        publish_every_updates=publish_every_updates, max_policy_lag=max_policy_lag, gpu_samples_per_s=gpu_samples_per_s,
    )  # fmt: skip
    network = Model(
        model, placement, decision_us,
        weights_mb=weights_mb, observation_bytes=observation_bytes, gpu_decisions_per_s=gpu_decisions_per_s,
    )  # fmt: skip
    wanted = Workload(
        games, tick_hz, sessions, transport, body_bytes, reply_bytes, think_ms, latency_ms, network, learning
    )
    wanted = (
        replace(wanted, learning=learning if learn else None)
        if config is None
        else with_config(wanted, load(config, set_ or []))
    )
    margins = Margins(utilisation, utilisation_after_loss, lost_nodes, helpers, replica_mb, recover_us, variation)
    _show(wanted, measured, machine, margins, seed if simulate else None, json_)


def _show(
    wanted: Workload, measured: list[Path], machine: Path, margins: Margins, seed: int | None, json_: bool
) -> None:
    """Prints the plan; exits with 1 if it does not hold."""
    costs = costs_of(read_measured(measured), wanted)
    found = plan_of(wanted, costs, read_machine(machine), margins)
    checked = None if seed is None else check(found, seed)
    console = Console(stderr=True)
    problems = [*found.problems, *(checked.problems if checked else ())]
    if not json_:
        console.print(table_of(found, checked))
        for note in costs.notes:
            console.print(f"assumed: {note}", markup=False, highlight=False, soft_wrap=True)
    for problem in problems:
        console.print(problem, style="red", markup=False, highlight=False, soft_wrap=True)
    sys.stdout.write(json.dumps(as_dict(found, checked)) + "\n")
    if problems:
        raise typer.Exit(1)
