"""How far a source has been read."""

from typing import NamedTuple


class Position(NamedTuple):
    """The next row; what follows depends on it, the files and the settings alone."""

    epoch: int
    shard: int
    """Place of the shard in the order of its epoch."""
    trajectories: int
    """Trajectories of the shard that were read whole."""
    offset: int
    """Rows of the next trajectory that were learned from."""


START = Position(0, 0, 0, 0)

Past = tuple[tuple[Position, ...], ...]
"""Where groups of readers have stopped, the oldest first, each by rank; the next group had another number of ranks."""


class Place(NamedTuple):
    """Where a reader goes on."""

    position: Position
    past: Past = ()
    """Groups before its own whose epochs are not over; the newest epoch that any of them has reached is the last one
    that is shared out by what they have left."""


BEGIN = Place(START)
