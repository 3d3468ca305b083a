"""``sparring launch`` and ``sparring demo``."""

import json
import sys
from pathlib import Path
from typing import Annotated

import psutil
import typer
from rich.table import Table

from app.config.load import load
from train.launch.launcher import Launcher
from train.launch.progress import Progress
from train.launch.result import LaunchResult
from train.launch.stopping import Stopper


def launch(
    config: Annotated[Path, typer.Option(help="Config file with a launch section.")],
    set_: Annotated[list[str] | None, typer.Option("--set", metavar="a.b=c", help="Override; may be repeated.")] = None,
    serve_port: Annotated[int, typer.Option(help="Serve's own HTTP port.", min=1, max=65535)] = 8000,
) -> None:
    """Starts service, training and game cores, until the goal is reached; prints one JSON line at the end."""
    stopper = Stopper()
    stopper.install()
    progress = Progress(psutil.Process().create_time())
    launcher = Launcher(load(config, set_ or []), config.parent, progress, stopper, serve_port)
    try:
        result = _run(launcher, stopper)
    finally:
        if stopper.requested():
            progress.stage("interrupted")
            stopper.enforce()
    progress.console.print(_summary(result, launcher))
    sys.stdout.write(json.dumps(result.as_dict()) + "\n")
    if not result.solved:
        raise typer.Exit(1)


def _run(launcher: Launcher, stopper: Stopper) -> LaunchResult:
    """Returns the launch's result; when the user has asked to stop, whatever fails on the way out is of no interest."""
    try:
        return launcher.run()
    finally:
        try:
            launcher.close()
        except Exception:
            if not stopper.requested():
                raise


def _summary(result: LaunchResult, launcher: Launcher) -> Table:
    table = Table(title="solved" if result.solved else "not solved", show_header=False)
    for name, value in result.as_dict().items():
        table.add_row(name.replace("_", " "), "-" if value is None else str(value))
    table.add_section()
    table.add_row("experiments", f"mlflow ui --backend-store-uri {launcher.mlflow_uri}")
    table.add_row("curves", f"tensorboard --logdir {launcher.trial_folder / 'tensorboard'}")
    table.add_row("dashboard, while it runs", launcher.ring.dashboard)
    return table
