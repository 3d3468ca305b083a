"""Which extra of the package a command needs."""

from collections.abc import Mapping
from typing import Final

_EXTRAS: Final[Mapping[str, str]] = {
    "bridge": "bridges",
    "import-bray": "cli",
    "new": "cli",
    "schema": "cli",
    "simulate": "games",
}
"""Extra that each command needs; the others need ``server``."""

_OWN_PACKAGES: Final = frozenset({"app", "deployments", "train"})


def extra_of(command: str) -> str:
    """Returns the extra that a command needs; without a command that of the command line itself."""
    return _EXTRAS.get(command, "server") if command and not command.startswith("-") else "cli"


def missing(command: str, error: ImportError) -> str:
    """Returns what to do about a command that cannot be imported, in one line.

    Args:
      command: Its name; empty or an option where none was given.
      error: What its import raised.
    """
    name = f"sparring {command}".rstrip()
    if error.name and error.name.partition(".")[0] not in _OWN_PACKAGES:
        return f"`{name}` needs more packages: pip install 'sparring[{extra_of(command)}]' ({error})"
    return f"`{name}` is not in this installation ({error})"
