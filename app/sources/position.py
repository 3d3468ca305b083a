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
