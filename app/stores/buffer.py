"""What replicas and learner workers ask of a buffer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

import numpy as np
import ray
from numpy.typing import NDArray
from ray.exceptions import ActorUnavailableError

from app.replay.ancestry import NO_ANCESTRY, Ancestry
from app.replay.supply import Parts
from app.stores.dealer import Ticket
from app.stores.host import BRIEF_S, StoreHandle
from app.stores.shard import ShardStats
from app.stores.table_folder import shard_file
from app.stores.table_keeper import Restored
from app.types import Rows, Version

TAKE_TIMEOUT_S: Final = 60.0
"""Time after which a ``take`` without any answer means that the buffer's process is gone."""
RESTORE_TIMEOUT_S: Final = 600.0
"""Longest wait for tables that are read from files."""
KEY_COLUMNS: Final = ("key_shard", "key_slot", "key_number")
"""Columns of a table's batch that name its items."""


Taken = Rows | list[Ticket] | None
"""A batch, tickets for batches, an empty mapping where none was due for a while, or None at the end."""


@dataclass(frozen=True, slots=True)
class BufferStats:
    """What a buffer did since its start, over all shards, in rows; in items where it is a table."""

    inserted: int
    popped: int
    dropped: int
    held: int
    repeated_pushes: int
    repeated_rows: int
    """Rows of trajectories that were taken already, from games restored after a crash."""
    under_way: int
    """Batches handed out and not yet released."""
    refused_pushes: int = 0
    ignored_priorities: int = 0
    """Priorities that came for items that had left."""
    shards: tuple[ShardStats, ...] = ()
    """Each of them."""


class Buffer:
    """One buffer with all its shards; the first of them deals the batches of all."""

    def __init__(self, shards: Sequence[StoreHandle]) -> None:
        """Keeps the handles, the first shard's first."""
        self._shards = tuple(shards)

    @property
    def shards(self) -> int:
        """Returns the number of shards."""
        return len(self._shards)

    def push(self, sender: str, number: int, rows: Rows, shard: int = 0) -> "ray.ObjectRef[Any]":
        """Sends trajectories to a shard; wait for the reference before the next push to it.

        It resolves to False where the shard is full and refuses: send the same push again, later.
        """
        return self._shards[shard].call("push", sender, number, rows)

    def claim(self, claimer: str, version: Version) -> "ray.ObjectRef[Any]":
        """Returns a reference to the number of rows of a version that a replica, named so, is to play.

        It is 0 where none are missing, or where another replica plays them.
        """
        return self._first.call("claim", claimer, version)

    def renew(self, claimer: str, version: Version) -> "ray.ObjectRef[Any]":
        """Says that a replica still plays what it was asked for; a reference to wait for."""
        return self._first.call("renew", claimer, version)

    def open(self, rank: int, group: str, ranks: int | None = None) -> None:
        """Joins a worker to its group of so many; None: as many as the buffer was made for."""
        self._first.get("open", rank, group, ranks)

    def take(self, rank: int, group: str) -> Taken:
        """Returns the worker's next batch or tickets; an empty mapping where none was due for a while.

        None says that the stream has ended.
        """
        return cast("Taken", ray.get(self.ask(rank, group), timeout=TAKE_TIMEOUT_S))

    def ask(self, rank: int, group: str) -> "ray.ObjectRef[Any]":
        """Returns a reference to what ``take`` would return."""
        return self._first.call("take", rank, group)

    def fetch(self, tickets: Sequence[Ticket]) -> list[Parts | None]:
        """Returns the pieces of each ticket's batch, read-only; None for one that is gone with its shard."""
        numbers: dict[int, list[int]] = {}
        for ticket in tickets:
            numbers.setdefault(ticket.shard, []).append(ticket.number)
        calls = {shard: self._shards[shard].call("fetch", wanted) for shard, wanted in numbers.items()}
        found: dict[tuple[int, int], Parts | None] = {}
        for shard, asked in calls.items():
            found |= {(shard, number): answer for number, answer in zip(numbers[shard], _held(asked), strict=False)}
        return [found.get((ticket.shard, ticket.number)) for ticket in tickets]

    def release(self, rank: int, batch: int) -> "ray.ObjectRef[Any]":
        """Gives the credit of a batch back."""
        return self._first.call("release", rank, batch)

    def update_priorities(
        self, keys: Mapping[str, NDArray[np.int64]], priorities: NDArray[np.floating]
    ) -> "list[ray.ObjectRef[Any]]":
        """Gives items of a table new priorities; of several for one item the last counts.

        Args:
          keys: ``KEY_COLUMNS`` of a batch, [N].
          priorities: Of each item, finite and not negative, [N].

        Returns:
          References to wait for, each resolving to the number of items that had left.
        """
        by_shard = keys["key_shard"]
        calls = []
        for shard in np.unique(by_shard[keys["key_number"] >= 0]).tolist():
            own = by_shard == shard
            slots, numbers = keys["key_slot"][own], keys["key_number"][own]
            calls.append(self._shards[shard].call("update_priorities", slots, numbers, priorities[own]))
        return calls

    def advance(self, newest: Version, ancestry: Ancestry = NO_ANCESTRY) -> "list[ray.ObjectRef[Any]]":
        """Notes the newest version, so that items that it makes too old leave; references to wait for.

        Args:
          newest: Newest published version.
          ancestry: What its generation went on from: so items of earlier generations have an age.
        """
        return [shard.call("advance", newest, ancestry) for shard in self._shards]

    def close(self) -> None:
        """Ends all streams; where they cannot be told in a moment, it is to be asked again.

        Raises:
          ray.exceptions.RayError: They were not told.
        """
        self._first.get("close", timeout_s=BRIEF_S)

    def finish(self, batch: int) -> None:
        """Ends all streams if the batch is of the workers that take now."""
        self._first.get("finish", batch)

    def save_tables(self, target: Path) -> "ray.ObjectRef[Any]":
        """Has all shards write their tables into a folder, which is there when all of them have.

        Returns:
          A reference to wait for; it raises a ``CheckpointError`` where one cannot be written.
        """
        return self._first.call("save_tables", target)

    def restore_tables(self, folder: Path) -> list[Restored]:
        """Has each shard take over its table from a folder, unless its own is in use; returns what became of each."""
        calls = [shard.call("restore_table", shard_file(folder, at)) for at, shard in enumerate(self._shards)]
        return cast("list[Restored]", ray.get(calls, timeout=RESTORE_TIMEOUT_S))

    def stats(self) -> BufferStats:
        """Returns what the buffer did."""
        calls = [shard.call("shard_stats") for shard in self._shards]
        shards = tuple(cast("list[ShardStats]", ray.get(calls, timeout=30.0)))
        under_way = cast("int", self._first.get("under_way"))
        supplies = [shard.supply for shard in shards]
        return BufferStats(
            inserted=sum(supply.inserted for supply in supplies),
            popped=sum(supply.popped for supply in supplies),
            dropped=sum(supply.dropped for supply in supplies),
            held=sum(supply.held for supply in supplies),
            repeated_pushes=sum(shard.repeated_pushes for shard in shards),
            repeated_rows=sum(shard.repeated_rows for shard in shards),
            under_way=under_way,
            refused_pushes=sum(shard.refused_pushes for shard in shards),
            ignored_priorities=sum(shard.ignored_priorities for shard in shards),
            shards=shards,
        )

    @property
    def _first(self) -> StoreHandle:
        return self._shards[0]


def _held(asked: "ray.ObjectRef[Any]") -> list[Parts | None]:
    """Returns what a shard answers; nothing where it restarts, since what it held is gone."""
    try:
        return cast("list[Parts | None]", ray.get(asked, timeout=TAKE_TIMEOUT_S))
    except ActorUnavailableError:
        return []
