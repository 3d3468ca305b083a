"""``sparring new``."""

from pathlib import Path
from typing import Annotated

import typer

from app.projects.writing import Template, write_project


def new(
    name: Annotated[str, typer.Argument(help="Of the project and its Python package, in lower snake case.")],
    template: Annotated[
        Template,
        typer.Option(
            help="rl: learns from its own games; imitation: from those of an expert; imitation_rl: from both; league: "
            "from games against itself; deploy: serves what was trained elsewhere."
        ),
    ] = "rl",
    into: Annotated[Path | None, typer.Option(help="Folder to write; default: a new one of that name here.")] = None,
) -> None:
    """Writes a project that trains, tests and deploys as it stands: a small game, its agent and network, and configs.

    Raises:
      ProjectError: The name is taken or not allowed, or the folder holds something.
    """
    folder = into or Path(name)
    for path in write_project(name, template, folder):
        typer.echo(folder / path)
    typer.echo(f"next: cd {folder} && make test && make {'serve' if template == 'deploy' else 'train'}")
