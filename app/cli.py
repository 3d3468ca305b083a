"""The command ``sparring``: its entry, which says what to install where something is missing."""

import sys
from collections.abc import Sequence
from contextlib import nullcontext

from app.extras import missing
from app.startup import ends_at_once
from app.version import version


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command that ``arguments`` name and exits.

    The exit code is 0 when it is done, 1 with a message on stderr, 2 for wrong usage, 130 when it was interrupted.

    Args:
      arguments: Words after the program's name; None takes those of this process.
    """
    words = sys.argv[1:] if arguments is None else list(arguments)
    if words == ["--version"]:
        sys.stdout.write(f"sparring {version()}\n")
        sys.exit()
    loading = ends_at_once if arguments is None else nullcontext  # A process that calls this is not ours to end.
    try:
        with loading():
            from app.command_line import run  # noqa: PLC0415  # The smallest install lacks what it is made of.
    except ImportError as error:
        sys.stderr.write(f"{missing(words[0] if words else '', error)}\n")
        sys.exit(1)
    run(words, loading())
