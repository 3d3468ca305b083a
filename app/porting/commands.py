"""``sparring import-bray``."""

from pathlib import Path
from typing import Annotated

import typer
import yaml

from app.errors import ConfigError
from app.porting.bray import port_bray


def import_bray(
    file: Annotated[Path, typer.Argument(help="Template of Bray, a YAML file.")],
    write: Annotated[Path | None, typer.Option(metavar="PATH", help="File to write; default: standard output.")] = None,
) -> None:
    """Converts a template of Bray to a config, and says on standard error what became of each of its keys.

    Raises:
      ConfigError: It is no such template, or the file cannot be written.
    """
    ported = port_bray(file)
    text = yaml.safe_dump(ported.tree, sort_keys=False, width=120, allow_unicode=True)
    for line in ported.lines:
        typer.echo(line, err=True)
    without = sum(not line.has_counterpart for line in ported.lines)
    typer.echo(f"{len(ported.lines)} keys, {without} without a counterpart", err=True)
    if write is None:
        typer.echo(text, nl=False)
        return
    try:
        write.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{write}: cannot be written: {error.strerror}") from error
