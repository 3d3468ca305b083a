"""Names of the actors that service and training share."""

from typing import Final

from app.config.root import Run

PREFIX: Final = "sparring."
STORES: Final = "stores"
"""Process that holds weights, metrics and directory."""

RELEASES: Final = "releases"
"""Process that follows the registry of models."""

LEAGUE: Final = "league"
"""Process that holds the league."""


def namespace_of(run: Run) -> str:
    """Returns the Ray namespace of a trial; its service and its training find each other in it."""
    return f"{PREFIX}{run.project}.{run.trial}"


def buffer_host(buffer: str, shard: int = 0) -> str:
    """Returns the name of the process that holds a shard of a buffer; the first one deals the batches of all."""
    return f"buffer.{buffer}.{shard}" if shard else f"buffer.{buffer}"
