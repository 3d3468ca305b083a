"""``sparring bench NAME``: what the product costs, next to a limit measured in the same run."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from app.stages import Stages
from train.bench.generator import Mode
from train.bench.inference import Plan as InferencePlan
from train.bench.inference import inference as measure_inference
from train.bench.league import LeaguePlan
from train.bench.league import league as measure_league
from train.bench.learner import LearnerPlan
from train.bench.learner import learner as measure_learner
from train.bench.learner_worker import STRATEGIES
from train.bench.metrics import MetricsPlan
from train.bench.metrics import metrics as measure_metrics
from train.bench.publish import PublishPlan
from train.bench.publish import publish as measure_publish
from train.bench.resume import ResumePlan
from train.bench.resume import resume as measure_resume
from train.bench.solve import main_line
from train.bench.solve import solve as measure_solve
from train.bench.ticks import Plan
from train.bench.ticks import ticks as measure_ticks
from train.launch.stopping import Stopper

AsJson = Annotated[bool, typer.Option("--json", help="Print the JSON line alone.")]

Windows = Annotated[int, typer.Option(help="Windows of each figure; below 5 nothing counts as measured.", min=1)]
WindowSeconds = Annotated[float, typer.Option(help="Length of a window.", min=0.1)]

bench = typer.Typer(no_args_is_help=True, help="Measures, next to the limit of the same machine in the same run.")


@bench.command()
def solve(
    config: Annotated[Path, typer.Option(help="Config file with a launch section.")] = Path("configs/rl.yaml"),
    seeds: Annotated[int, typer.Option(help="Launches, each with a seed of its own.", min=1)] = 3,
    set_: Annotated[list[str] | None, typer.Option("--set", metavar="a.b=c", help="Override; may be repeated.")] = None,
    json: AsJson = False,
) -> None:
    """Launches until CartPole is solved; the limit is the same algorithm in one process."""
    say = Stages().tell  # Nothing that moves: each launch shows its own progress on the same terminal.
    _show("solve", measure_solve(config, range(seeds), set_ or [], say), json)


@bench.command()
def ticks(
    transport: Annotated[list[Mode], typer.Option(help="Transports; may be repeated.")] = list(Mode),  # noqa: B006
    connections: Annotated[list[int], typer.Option(help="Connections at once; may be repeated.", min=1)] = [1, 8, 32],  # noqa: B006
    body: Annotated[list[int], typer.Option(help="Bytes of a tick; may be repeated.", min=0)] = [64, 4096],  # noqa: B006
    windows: Windows = 5,
    seconds: WindowSeconds = 1.0,
    cells: Annotated[bool, typer.Option("--cells", help="Measure the transports.")] = False,
    cartpole: Annotated[bool, typer.Option("--cartpole", help="Measure CartPole's policy.")] = False,
    forwarded: Annotated[bool, typer.Option("--forwarded", help="Measure forwarded steps.")] = False,
    recorded: Annotated[bool, typer.Option("--recorded", help="Measure ticks with a recorder and without.")] = False,
    memory: Annotated[bool, typer.Option("--memory", help="Measure idle sessions and growth.")] = False,
    json: AsJson = False,
) -> None:
    """Measures what a tick costs: everything without --cells, --cartpole, --forwarded, --recorded and --memory."""
    everything = not (cells or cartpole or forwarded or recorded or memory)
    plan = Plan(
        modes=transport,
        connections=connections,
        body_bytes=body,
        windows=windows,
        seconds=seconds,
        cells=everything or cells,
        cartpole=everything or cartpole,
        forwarded=everything or forwarded,
        recorded=everything or recorded,
        memory=everything or memory,
    )
    result = _stoppable(lambda stopper, say: measure_ticks(plan, stopper, say))
    _show("ticks", result, json)
    if result["errors"]:
        raise typer.Exit(1)


@bench.command()
def publish(
    runs: Annotated[int, typer.Option(help="Publishes of each size; below 5 nothing counts as measured.", min=1)] = 7,
    windows: Annotated[int, typer.Option(help="Windows of ticks with updates, and without; as above.", min=1)] = 5,
    seconds: WindowSeconds = 5.0,
    size_mb: Annotated[list[int], typer.Option(help="Sizes of weights in MiB; may be repeated.", min=1)] = [1, 100],  # noqa: B006
    ticks: Annotated[bool, typer.Option(help="Measure ticks with and without updates.")] = True,
    json: AsJson = False,
) -> None:
    """Measures how soon new weights answer in two replicas, and what that does to ticks."""
    plan = PublishPlan(runs, windows, seconds, size_mb, ticks)
    _show("publish", _stoppable(lambda stopper, say: measure_publish(plan, stopper, say)), json)


@bench.command()
def buffer(
    windows: Windows = 5,
    seconds: WindowSeconds = 4.0,
    rows: Annotated[bool, typer.Option("--rows", help="Measure rows a second.")] = False,
    lag: Annotated[bool, typer.Option("--lag", help="Measure the age of batches.")] = False,
    push: Annotated[bool, typer.Option("--push", help="Measure what a push costs.")] = False,
    table: Annotated[bool, typer.Option("--table", help="Measure the prioritized table.")] = False,
    recorder: Annotated[bool, typer.Option("--recorder", help="Measure what recorded games cost.")] = False,
    json: AsJson = False,
) -> None:
    """Measures the way from a push to a training step, and to a file; without a part of it, all of them."""
    from train.bench.buffer import BufferPlan  # noqa: PLC0415  # It needs Ray Data, which takes seconds to import.
    from train.bench.buffer import buffer as measure_buffer  # noqa: PLC0415

    everything = not (rows or lag or push or table or recorder)
    plan = BufferPlan(
        windows,
        seconds,
        rows=everything or rows,
        lag=everything or lag,
        push=everything or push,
        table=everything or table,
        recorder=everything or recorder,
    )
    _show("buffer", _stoppable(lambda stopper, say: measure_buffer(plan, stopper, say)), json)


@bench.command()
def learner(
    windows: Windows = 5,
    seconds: WindowSeconds = 2.0,
    workers: Annotated[list[int], typer.Option(help="Workers; may be repeated.", min=1)] = [1, 2],  # noqa: B006
    rows: Annotated[int, typer.Option(help="Rows of one worker's batch.", min=64)] = 1024,
    size_mb: Annotated[float, typer.Option(help="Size of the weights in MiB.", min=0.01)] = 1.0,
    strategy: Annotated[list[str], typer.Option(help="Strategies; may be repeated.")] = list(STRATEGIES),  # noqa: B006
    json: AsJson = False,
) -> None:
    """Measures samples a second by strategy; a sample is a row in one of the four passes over a batch."""
    if unknown := set(strategy) - set(STRATEGIES):
        raise typer.BadParameter(f"{', '.join(sorted(unknown))}; allowed: {', '.join(STRATEGIES)}")
    plan = LearnerPlan(windows, seconds, workers, rows, size_mb, strategy)
    _show("learner", _stoppable(lambda stopper, say: measure_learner(plan, stopper, say)), json)


@bench.command()
def resume(
    runs: Annotated[int, typer.Option(help="Deaths of a worker; below 5 nothing counts as measured.", min=1)] = 5,
    workers: Annotated[int, typer.Option(help="Learner workers.", min=1)] = 2,
    json: AsJson = False,
) -> None:
    """Measures the seconds from the death of a learner worker to the next update."""
    _show("resume", _stoppable(lambda stopper, say: measure_resume(ResumePlan(runs, workers), stopper, say)), json)


@bench.command()
def league(
    windows: Windows = 5,
    players: Annotated[int, typer.Option(help="Players, frozen ones included.", min=10)] = 1_000,
    matches: Annotated[int, typer.Option(help="Matches that were recorded before.", min=1)] = 1_000_000,
    json: AsJson = False,
) -> None:
    """Measures what a match, a journal entry and a snapshot of a large league cost."""
    plan = LeaguePlan(windows, players, matches)
    _show("league", _stoppable(lambda stopper, say: measure_league(plan, stopper, say)), json)


@bench.command()
def metrics(
    windows: Windows = 6,
    seconds: WindowSeconds = 2.0,
    ticks: Annotated[bool, typer.Option(help="Measure ticks with metrics and without.")] = True,
    json: AsJson = False,
) -> None:
    """Measures what a recorded value, a merge and a scrape cost, and ticks with latencies and without."""
    plan = MetricsPlan(windows, seconds, ticks)
    _show("metrics", _stoppable(lambda stopper, say: measure_metrics(plan, stopper, say)), json)


def _stoppable(measure: Callable[[Stopper, Callable[[str], None]], dict[str, object]]) -> dict[str, object]:
    """Returns what was measured; Ctrl-C ends it and all that it has started."""
    stages = Stages()
    stopper = Stopper()
    stopper.install()
    try:
        with stages:
            return measure(stopper, stages.tell)
    finally:
        if stopper.requested():
            stages.tell("interrupted")
            stopper.enforce()


@bench.command()
def inference(
    windows: Windows = 5,
    seconds: WindowSeconds = 1.0,
    local: Annotated[bool, typer.Option("--local", help="Measure models in this process.")] = False,
    remote: Annotated[bool, typer.Option("--remote", help="Measure a model in a replica of its own.")] = False,
    json: AsJson = False,
) -> None:
    """Measures what a model's decision costs; without --local and --remote both are measured."""
    everything = not (local or remote)
    plan = InferencePlan(windows, seconds, local=everything or local, remote=everything or remote)
    result = _stoppable(lambda stopper, say: measure_inference(plan, stopper, say))
    _show("inference", result, json)


def _show(name: str, result: dict[str, object], json: bool) -> None:
    if not json:
        table = Table(title=f"bench {name}", show_header=False)
        for key, value in result.items():
            table.add_row(key.replace("_", " "), str(value))
        Console(stderr=True).print(table)
    sys.stdout.write(main_line(result) + "\n")
