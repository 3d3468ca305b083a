"""``sparring doctor``."""

import json
import sys
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.table import Table

from app.config.active import active
from app.config.load import load
from deployments.doctor.findings import Finding, Level, worst
from deployments.doctor.machine import examine

HOST: Final = "127.0.0.1"
GAME_PORT: Final = 36_390
"""Default of ``actors.<name>.port``."""
COLORS: Final[dict[Level, str]] = {"ok": "green", "warn": "yellow", "fail": "red"}


def doctor(
    config: Annotated[Path | None, typer.Option(help="Config whose game ports are looked at; default: 36390.")] = None,
    serve_port: Annotated[int, typer.Option(help="Serve's own HTTP port.", min=1, max=65535)] = 8000,
    json_: Annotated[bool, typer.Option("--json", help="Prints JSON.")] = False,
) -> None:
    """Looks at this machine: versions, ports, limits, shared memory, disk, Ray's token, GPUs; exits 1 if one fails.

    Raises:
      ConfigError: The config cannot be read.
    """
    found = list(examine({**_game_ports(config), "Serve's port": (HOST, serve_port)}))
    level = worst(found)
    if json_:
        sys.stdout.write(json.dumps({"level": level, "findings": [one.as_dict() for one in found]}) + "\n")
    else:
        Console().print(_table(found))
    if level == "fail":
        raise typer.Exit(1)


def _game_ports(config: Path | None) -> dict[str, tuple[str, int]]:
    if config is None:
        return {"game port": (HOST, GAME_PORT)}
    actors = active(load(config)).actors
    return {f"game port of {name}": (actor.host, actor.port) for name, actor in actors.items() if actor.port}


def _table(found: list[Finding]) -> Table:
    table = Table("check", "level", "found", "what to do")
    for one in found:
        table.add_row(one.check, f"[{COLORS[one.level]}]{one.level}[/]", one.found, one.advice)
    return table
