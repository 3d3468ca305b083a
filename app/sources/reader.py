"""The order in which the trajectories of a source are read, from any position on."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from app.errors import SourceError
from app.seeding import derive
from app.sources.dealing import Dealer, Part
from app.sources.fitting import Field
from app.sources.position import START, Past, Position
from app.sources.stored import Shard
from app.sources.trajectory import trajectory
from app.types import Rows

Purpose = Literal["train", "held_out"]
HASHES: Final = 2.0**63
"""Numbers that ``derive`` gives."""


@dataclass(frozen=True, slots=True)
class Order:
    """Which trajectories are read, and in which order."""

    epochs: int | None = 1
    """Passes over the shards; None never ends."""
    window: int | None = None
    """Trajectories of which the next is drawn; None reads all in the order in which they are stored."""
    seed: int = 0
    held_out_share: float = 0.0
    """Share of the trajectories that is not of the part ``train`` but of ``held_out``."""
    part: Purpose = "train"
    rank: int = 0
    ranks: int = 1
    """Readers that share the trajectories: whole shards where there is one for each, else every n-th trajectory."""
    past: Past = ()
    """Groups of readers of other numbers that have stopped before."""


class Reader:
    """Reads whole trajectories; the same settings and files give the same rows from each position on."""

    def __init__(self, name: str, shards: Sequence[Shard], fields: Mapping[str, Field] | None, order: Order) -> None:
        """Keeps the names; nothing is opened.

        Args:
          name: Of the source, for messages.
          shards: In the order of their names.
          fields: What each column may hold; None leaves that to ``preprocess``.
          order: Which trajectories, in which order.

        Raises:
          SourceError: There is no shard.
        """
        if not shards:
            raise SourceError(f"sources.{name} has no shard; allowed is at least one")
        self._dealer = Dealer(shards, order.seed, shuffled=order.window is not None, past=order.past)
        self._name, self._fields, self._order = name, fields, order

    def trajectories(self, begin: Position = START) -> Iterator[tuple[Position, Rows]]:
        """Yields each trajectory from a position on, and where it stands; the first may have been begun already.

        Raises:
          SourceError: A file cannot be read, a row does not fit the model, or there is no trajectory at all.
        """
        epochs = itertools.count(begin.epoch) if self._order.epochs is None else range(begin.epoch, self._order.epochs)
        for epoch in epochs:
            read = 0
            first = begin if epoch == begin.epoch else START
            for place, part in enumerate(self._dealer.parts(epoch, self._order.rank, self._order.ranks)):
                if place < first.shard:
                    continue
                done = first.trajectories if place == first.shard else 0
                for count, (learned, rows) in enumerate(part.left(self._shuffled(epoch, part))):
                    if count >= done:
                        read += 1
                        offset = first.offset if (place, count) == (first.shard, done) else 0
                        yield Position(epoch, place, count, max(learned, offset)), rows
            if first == START and not read and self._dealer.is_new(epoch):
                raise SourceError(self._nothing())

    def _shuffled(self, epoch: int, part: Part) -> Iterator[Rows]:
        """Yields the trajectories of a part, each drawn from a window over what is stored next."""
        window = self._order.window or 1
        rng = np.random.default_rng(derive(self._order.seed, "trajectories", epoch, part.number))
        held: list[Rows] = []
        for rows in self._chosen(part):
            held.append(rows)
            if len(held) >= window:
                yield _drawn(held, rng)
        while held:
            yield _drawn(held, rng)

    def _chosen(self, part: Part) -> Iterator[Rows]:
        """Yields the trajectories of a part, as stored."""
        chosen = 0
        for at, stored in enumerate(part.shard):
            if self._is_held_out(part.shard, at) != (self._order.part == "held_out"):
                continue
            chosen += 1
            if (chosen - 1) % part.stride != part.first:
                continue
            rows = trajectory(stored, self._fields, part.number << 32 | at)
            if rows is not None:
                yield rows

    def _is_held_out(self, shard: Shard, at: int) -> bool:
        share = self._order.held_out_share
        return share > 0 and derive(0, "held out", shard.name, at) / HASHES < share

    def _nothing(self) -> str:
        shards = [part.shard for part in self._dealer.parts(0, self._order.rank, self._order.ranks)]
        names = ", ".join(shard.name for shard in shards[:3])
        of = f" for worker {self._order.rank} of {self._order.ranks}" if self._order.ranks > 1 else ""
        return (
            f"sources.{self._name} has no trajectory of the part {self._order.part}{of} in {names}"
            f"{', …' if len(shards) > 3 else ''}; needed is one with a step whose next state is known"  # noqa: PLR2004
        )


def _drawn(held: list[Rows], rng: np.random.Generator) -> Rows:
    """Takes one of the trajectories; of one there is nothing to draw."""
    at = int(rng.integers(len(held))) if len(held) > 1 else 0
    held[at], held[-1] = held[-1], held[at]
    return held.pop()
