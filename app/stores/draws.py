"""Draws batches from the shards of a buffer, until there is one for each worker."""

import asyncio
from collections.abc import Sequence
from typing import NamedTuple, Protocol


class Drawn(NamedTuple):
    """A batch that lies ready at a shard."""

    shard: int
    number: int
    """Under which the shard keeps it."""


class ShardLink(Protocol):
    """A shard as the dealer sees it."""

    @property
    def batches(self) -> int:
        """Returns how many batches it said it could draw."""

    async def draw(self, number: int) -> bool:
        """Has it draw a batch and keep it; returns False where it has none, or does not answer."""

    async def drop(self, numbers: list[int]) -> None:
        """Has it forget batches."""


class Draws:
    """Batches that were drawn and not dealt: fewer than there are workers, as long as each round is dealt."""

    def __init__(self, links: Sequence[ShardLink], workers: int) -> None:
        """Draws nothing yet.

        Args:
          links: The shards.
          workers: Learner workers.
        """
        self._links = links
        self.workers = workers
        """Batches of a round."""
        self._drawn: list[Drawn] = []
        self._next_number = 0
        self._choices = 0
        self._chosen_at = [0] * len(links)
        """Newest choice that fell on each shard."""

    @property
    def missing(self) -> int:
        """Returns how many batches a round lacks."""
        return max(0, self.workers - len(self._drawn))

    @property
    def there(self) -> int:
        """Returns how many batches the shards could draw."""
        return sum(link.batches for link in self._links)

    async def draw(self) -> None:
        """Draws what is missing from the shards that have it; less where they have less."""
        await asyncio.gather(*(self._draw(shard) for shard in self._choose()))

    def for_ranks(self) -> list[Drawn]:
        """Returns the batch of each rank: that of shard r for rank r where there is one, as they may share a node."""
        # Of a larger group before this one, more may have been drawn than there are ranks now.
        drawn, self._drawn = self._drawn[: self.workers], self._drawn[self.workers :]
        mine: list[Drawn | None] = []
        for rank in range(self.workers):
            own = next((batch for batch in drawn if batch.shard == rank % len(self._links)), None)
            mine.append(own)
            if own is not None:
                drawn.remove(own)
        return [batch if batch is not None else drawn.pop(0) for batch in mine]

    async def forget(self, drawn: Sequence[Drawn]) -> None:
        """Has the shards forget batches; one that does not answer has forgotten them with its process."""
        numbers: dict[int, list[int]] = {}
        for batch in drawn:
            numbers.setdefault(batch.shard, []).append(batch.number)
        await asyncio.gather(*(self._links[shard].drop(held) for shard, held in numbers.items()))

    def _choose(self) -> list[int]:
        """Returns the shards of the next batches; fewer where there are fewer.

        Those with the most come first, and of equal ones those that were not drawn from for the longest time.
        """
        left = {shard: link.batches for shard, link in enumerate(self._links) if link.batches}
        chosen: list[int] = []
        while left and len(chosen) < self.missing:
            fullest = max(left, key=lambda shard: (left[shard], -self._chosen_at[shard]))
            chosen.append(fullest)
            self._choices += 1
            self._chosen_at[fullest] = self._choices
            left[fullest] -= 1
            if not left[fullest]:
                del left[fullest]
        return chosen

    async def _draw(self, shard: int) -> None:
        number = self._next_number
        self._next_number += 1
        if await self._links[shard].draw(number):
            self._drawn.append(Drawn(shard, number))
