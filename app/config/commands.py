"""``sparring check`` and ``sparring schema``."""

import os
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from app.config.applications import is_serve_config, load_applications
from app.config.files import read
from app.config.load import load
from app.config.reference import reference
from app.config.root import ExperimentConfig
from app.config.schema import rendered
from app.config.slots import Slot, refuse_if_too_big, slots, total
from app.config.usable import refuse_unusable
from app.errors import ConfigError
from app.extras import missing


def check(
    file: Annotated[Path, typer.Argument(help="Config file.")],
    overrides: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Replaces a value; may be repeated.")
    ] = None,
    cpus: Annotated[
        float | None, typer.Option(help="CPU cores of the cluster; default: those of this machine.")
    ] = None,
    gpus: Annotated[float | None, typer.Option(help="GPUs of the cluster; default: not checked.")] = None,
) -> None:
    """Checks a config, imports the code that it names, builds its models and shows what it reserves in the cluster.

    A Serve config is checked with the configs of its applications, which must not want the same names and ports.

    Raises:
      ConfigError: Something is wrong, code cannot be imported, a model cannot be built or trained, keys cannot be read,
        or the cluster is too small.
    """
    if find_spec("torch") is None:
        raise ConfigError(missing("check", ModuleNotFoundError("No module named 'torch'", name="torch")))
    console = Console()
    for config in _configs(file, overrides or []):
        refuse_unusable(config, file)
        placed = slots(config)
        console.print(_table(placed, config.run.mode))
        refuse_if_too_big(config, os.cpu_count() or 1 if cpus is None else cpus, gpus)
    console.print("OK", style="green")


def schema(
    write: Annotated[Path | None, typer.Option(metavar="PATH", help="File to write; default: standard output.")] = None,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="The reference to read, in Markdown; default: JSON.")
    ] = False,
) -> None:
    """Writes the JSON Schema of config files.

    Raises:
      ConfigError: The file cannot be written.
    """
    text = reference() if markdown else rendered()
    if write is None:
        typer.echo(text, nl=False)
        return
    try:
        write.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{write}: cannot be written: {error.strerror}") from error


def _configs(file: Path, overrides: Sequence[str]) -> list[ExperimentConfig]:
    """Returns the configs behind a file: its own, or those of a Serve config's applications."""
    if is_serve_config(read(file)):
        if overrides:
            raise ConfigError(f"{file} is a Serve config: its applications have args.set in place of --set")
        return [application.config for application in load_applications(file) if application.config is not None]
    config = load(file, overrides)
    if config.launch and config.launch.deploy_config:
        load(file.parent / config.launch.deploy_config)
    return [config]


def _table(placed: Sequence[Slot], mode: str) -> Table:
    table = Table("component", title=f"reserved in mode {mode}")
    for heading in ("processes", "CPU cores", "GPUs", "memory MiB"):
        table.add_column(heading, justify="right")
    for slot in placed:
        cpus, gpus, memory = (
            slot.processes * slot.num_cpus,
            slot.processes * slot.num_gpus,
            slot.processes * slot.memory_mb,
        )
        table.add_row(slot.component, str(slot.processes), f"{cpus:g}", f"{gpus:g}", str(memory))
    whole = total(placed)
    table.add_section()
    table.add_row("sum", str(whole.processes), f"{whole.num_cpus:g}", f"{whole.num_gpus:g}", str(whole.memory_mb))
    return table
