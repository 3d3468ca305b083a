"""Who reads what of an epoch: shares of several readers, and what is left of them for readers of another number."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from app.seeding import derive
from app.sources.position import Past, Position
from app.sources.stored import Shard
from app.types import Rows


@dataclass(frozen=True, slots=True)
class Cut:
    """What is left of an order of trajectories, and which of that one reader reads."""

    done: int
    """Trajectories that were read whole."""
    offset: int
    """Rows of the next one that were learned from."""
    first: int = 0
    stride: int = 1
    """Of what is left every n-th trajectory, beginning with that number."""


@dataclass(frozen=True, slots=True)
class Part:
    """Trajectories of one shard that one reader reads."""

    number: int
    """Of the shard."""
    shard: Shard
    first: int = 0
    stride: int = 1
    """Of the trajectories as stored every n-th, beginning with that number."""
    cuts: tuple[Cut, ...] = ()
    """What earlier groups of readers have left of it, the oldest first."""

    def left(self, trajectories: Iterator[Rows]) -> Iterator[tuple[int, Rows]]:
        """Yields what is left of the part's trajectories, each with the number of its rows that were learned from.

        Args:
          trajectories: All of the part, in the order of the epoch.
        """
        found: Iterator[tuple[int, Rows]] = ((0, rows) for rows in trajectories)
        for cut in self.cuts:
            found = islice(_begun(islice(found, cut.done, None), cut.offset), cut.first, None, cut.stride)
        return found


@dataclass(frozen=True, slots=True)
class Dealer:
    """Deals out the shards of each epoch."""

    shards: Sequence[Shard]
    """In the order of their names."""
    seed: int
    shuffled: bool
    """Whether each epoch has an order of its own."""
    past: Past = ()
    """Groups of readers before this one."""

    def parts(self, epoch: int, rank: int, ranks: int) -> list[Part]:
        """Returns what one of so many readers reads in an epoch, in order.

        In an epoch that an earlier group of readers has begun, that is its share of what they have left.
        """
        begun = self._begun_at(epoch)
        if begun is None:
            return self._share(epoch, rank, ranks)
        size = len(self.past[begun])
        shares = [self._share(epoch, one, size) for one in range(size)]
        left = _left(shares, self.past[begun], epoch)
        for positions in self.past[begun + 1 :]:
            size = len(positions)
            left = _left([_every(left, one, size) for one in range(size)], positions, epoch)
        return _every(left, rank, ranks)

    def is_new(self, epoch: int) -> bool:
        """Returns whether no earlier group of readers has reached an epoch."""
        return self._begun_at(epoch) is None

    def _begun_at(self, epoch: int) -> int | None:
        """Returns the first group that any reader of up to it has brought to an epoch; it shared it out anew."""
        reached = (max(position.epoch for position in positions) for positions in self.past)
        return next((number for number, newest in enumerate(reached) if newest >= epoch), None)

    def _share(self, epoch: int, rank: int, ranks: int) -> list[Part]:
        """Returns one share of the whole: shards, or every n-th trajectory where there are fewer than readers."""
        numbered = list(enumerate(self.shards))
        if len(numbered) >= ranks:
            parts = [Part(number, shard) for number, shard in numbered[rank::ranks]]
        else:
            parts = [Part(number, shard, rank, ranks) for number, shard in numbered]
        if not self.shuffled:
            return parts
        rng = np.random.default_rng(derive(self.seed, "shards", epoch))
        return [parts[at] for at in rng.permutation(len(parts))]


def _left(shares: Sequence[Sequence[Part]], positions: Sequence[Position], epoch: int) -> list[Part]:
    """Returns what readers have left of their shares of an epoch; what each was at comes first."""
    found: list[tuple[int, Part]] = []
    for share, position in zip(shares, positions, strict=True):
        if position.epoch > epoch:
            continue
        at = position if position.epoch == epoch else Position(epoch, 0, 0, 0)
        for place, part in enumerate(share[at.shard :]):
            cut = Cut(0, 0) if place else Cut(at.trajectories, at.offset)
            found.append((place, replace(part, cuts=(*part.cuts, cut))))
    return [part for _, part in sorted(found, key=lambda one: one[0])]


def _every(parts: Sequence[Part], rank: int, ranks: int) -> list[Part]:
    """Returns every n-th trajectory of each part; readers take turns to have the first."""
    return [
        replace(part, cuts=(*part.cuts[:-1], replace(part.cuts[-1], first=(rank + at) % ranks, stride=ranks)))
        for at, part in enumerate(parts)
    ]


def _begun(trajectories: Iterator[tuple[int, Rows]], offset: int) -> Iterator[tuple[int, Rows]]:
    """Yields trajectories of which the first was begun."""
    for number, (before, rows) in enumerate(trajectories):
        yield (before if number else max(before, offset)), rows
