"""Sends an actor replica's trajectories to their buffer, over a link to each of its shards that the replica uses."""

import asyncio
from collections import Counter
from collections.abc import Callable

from app.agents.outbox import Outbox
from app.agents.unroll import Row
from app.models.spec import ModelSpec
from app.stores.buffer import Buffer
from app.types import Rows
from deployments.push_link import PushLink


def unchanged(rows: Rows) -> Rows:
    """Returns all rows as they are."""
    return rows


class Pusher:
    """Collects rows and sends them when there are enough, or after a while.

    A trajectory goes to the shard that the number of its episode names: so a game that is restored from a snapshot in
    this replica sends its rows where they are known already.
    """

    def __init__(
        self,
        buffer: Buffer,
        spec: ModelSpec,
        push_rows: int,
        push_s: float,
        counts: Counter[str],
        shards: "list[int] | None" = None,
        passed: Callable[[Rows], Rows] = unchanged,
    ) -> None:
        """Makes the links.

        Args:
          buffer: Where the rows go.
          spec: Shapes of the model whose games they are of.
          push_rows: Rows of one push.
          push_s: Longest time that rows wait for a fuller push.
          counts: The replica's counters.
          shards: Shards of the buffer that this replica sends to; None names the first.
          passed: Returns which rows of a push are sent, whole trajectories.
        """

        def outbox(full: Callable[[], None]) -> Outbox:
            return Outbox(spec, push_rows, full)

        self._links = [PushLink(buffer, shard, outbox, push_rows, push_s, counts, passed) for shard in shards or [0]]

    @property
    def links(self) -> int:
        """Returns how many shards this replica sends to."""
        return len(self._links)

    def add(self, trajectory: list[Row]) -> None:
        """Takes a trajectory; never waits."""
        self._links[trajectory[0].episode % len(self._links)].add(trajectory)

    async def run(self) -> None:
        """Sends for as long as it runs."""
        async with asyncio.TaskGroup() as tasks:
            for link in self._links:
                tasks.create_task(link.run())

    async def flush(self) -> None:
        """Sends what waits."""
        await asyncio.gather(*(link.flush() for link in self._links))


def linked_shards(replica: int, shards: int, links: int) -> list[int]:
    """Returns the shards that a replica sends to: neighbours in a ring, so that replicas in a row cover all of them.

    Args:
      replica: Number of the replica among those of its actor.
      shards: Number of shards.
      links: How many of them it sends to.
    """
    return [(replica * links + link) % shards for link in range(links)]
