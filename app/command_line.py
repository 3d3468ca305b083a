"""Runs ``sparring COMMAND``; each command is an entry point and is imported when it is called."""

import inspect
import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from importlib.metadata import EntryPoint, entry_points
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.markup import escape

from app.errors import SparringError
from app.extras import missing
from app.origin import ROOT, check_origin
from app.startup import INTERRUPTED
from app.version import version

GROUP = "sparring.commands"
"""Entry point group: the name is the command, the value a function with typer annotations, or a group of such."""

COMPLETE: Final = "_SPARRING_COMPLETE"
"""Set by a shell that asks how a line goes on; typer answers it."""
COMPLETION: Final = ("--install-completion", "--show-completion")
"""Options of typer that are about the shell, and need no command."""
TYPED: Final = ("COMP_WORDS", "_TYPER_COMPLETE_ARGS")
"""Where shells tell what was typed: bash, and the others."""


def run(words: Sequence[str], loading: AbstractContextManager[None]) -> None:
    """Runs the command that the words name and exits, as ``app.cli.main`` tells.

    Args:
      words: What was typed behind the program's name.
      loading: Entered while the command is imported.
    """
    sys.path += [str(ROOT), ""]  # User code may lie where we start; it comes last, so that it cannot hide ours.
    try:
        with loading:
            check_origin()
            entries = {entry.name: entry for entry in entry_points(group=GROUP)}
            typed = _typed(words)
            cli = build(entries, words) if typed is None else build_to_complete(entries, typed)
        cli(words)
    except SparringError as error:
        Console(stderr=True).print(str(error), style="red", markup=False, highlight=False, soft_wrap=True)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def build(entries: Mapping[str, EntryPoint], words: Sequence[str]) -> typer.Typer:
    """Returns the command line for ``words``: with the command that they call, or with all if they call none."""
    cli = _empty()
    called = words[0] if words else ""
    for name in [called] if called in entries else sorted(entries):
        _add(cli, entries[name])
    return cli


def build_to_complete(entries: Mapping[str, EntryPoint], typed: Sequence[str]) -> typer.Typer:
    """Returns the command line that a shell asks about: the command that was typed, or the names of all.

    A line whose command is still being typed needs no command imported, which would take seconds.
    """
    if typed[:1] and typed[0] in entries:
        return build(entries, typed)
    cli = _empty()
    for name in sorted(entries):
        cli.command(name, help=name)(_describe)
    return cli


def _empty() -> typer.Typer:
    cli = typer.Typer(name="sparring", no_args_is_help=True, pretty_exceptions_enable=False)
    cli.callback()(_root)
    return cli


def _typed(words: Sequence[str]) -> list[str] | None:
    """Returns the words behind the program's name that a shell wants to complete; None where none asks."""
    if words and words[0] in COMPLETION:
        return []
    if COMPLETE not in os.environ:
        return None
    line = next((os.environ[name] for name in TYPED if name in os.environ), "")
    try:
        return shlex.split(line)[1:]
    except ValueError:  # An open quotation mark: its word is not finished.
        return line.split()[1:]


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"sparring {version()}")
        raise typer.Exit


def _root(
    version_: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Trains game AI by letting it play, and serves it to the game."""


def _describe() -> None:
    """Trains game AI by letting it play, and serves it to the game."""


def _add(cli: typer.Typer, entry: EntryPoint) -> None:
    try:
        command = entry.load()
    except ImportError as error:
        message = missing(entry.name, error)
        anything = {"allow_extra_args": True, "ignore_unknown_options": True}
        cli.command(entry.name, help=escape(message), context_settings=anything)(_refusing(message))
        return
    if isinstance(command, typer.Typer):
        cli.add_typer(command, name=entry.name)
        return
    summary = (inspect.getdoc(command) or "").partition("\n\n")[0]
    cli.command(entry.name, help=escape(summary))(command)


def _refusing(message: str) -> Callable[[], None]:
    def refuse() -> None:
        raise SparringError(message)

    return refuse
