"""Sums over episodes whose rows come in pieces, one trajectory after another."""

from collections import OrderedDict
from typing import Final, NamedTuple

from app.types import RowKind

OPEN_MAX: Final = 10_000
"""Episodes that may go on at once; the one that was heard of least recently is forgotten first."""


class Row(NamedTuple):
    """A row, as far as it matters here."""

    episode: int
    tick: int
    kind: int
    """``RowKind``."""
    raw: float
    """Reward as the game gave it; ignored in bootstrap rows."""
    shaped: float
    """Reward as it is learned from; likewise."""


class Returns(NamedTuple):
    """Of one episode that was seen from its first tick to its end."""

    raw: float
    shaped: float


class Followed(NamedTuple):
    """What came of some rows."""

    discounted: list[float]
    """Discounted sum of the shaped rewards of the episode so far, at each row; 0 at bootstrap rows."""
    ended: list[Returns]


class EpisodeSums:
    """Follows episodes by their rows; where some are missing, one begins anew and has no return."""

    def __init__(self, gamma: float) -> None:
        """Begins without an episode.

        Args:
          gamma: Discount per tick of the discounted sums; returns have none.
        """
        self._gamma = gamma
        self._open: OrderedDict[int, _Open] = OrderedDict()

    def follow(self, rows: list[Row]) -> Followed:
        """Takes rows in: trajectories one behind another, each ending in its bootstrap row."""
        discounted, ended = [0.0] * len(rows), []
        for at, row in enumerate(rows):
            if row.kind == RowKind.STEP:
                discounted[at] = self._step(row)
            elif (returns := self._end(row)) is not None:
                ended.append(returns)
        return Followed(discounted, ended)

    def _step(self, row: Row) -> float:
        found = self._open.get(row.episode)
        if found is None or found.tick != row.tick:
            found = self._open[row.episode] = _Open(row.tick)
            if len(self._open) > OPEN_MAX:
                self._open.popitem(last=False)
        self._open.move_to_end(row.episode)
        found.tick += 1
        found.raw += row.raw
        found.shaped += row.shaped
        found.discounted = self._gamma * found.discounted + row.shaped
        return found.discounted

    def _end(self, row: Row) -> Returns | None:
        """Returns the sums of an episode that a bootstrap row ends; None where it goes on or was not seen whole."""
        found = self._open.get(row.episode)
        if row.kind == RowKind.FULL or found is None or found.tick != row.tick:
            return None
        del self._open[row.episode]
        return Returns(found.raw, found.shaped) if found.is_whole and row.kind != RowKind.LOST else None


class _Open:
    """An episode that goes on."""

    __slots__ = ("discounted", "is_whole", "raw", "shaped", "tick")

    def __init__(self, tick: int) -> None:
        self.tick = tick
        self.is_whole = tick == 0
        self.raw = self.shaped = self.discounted = 0.0
