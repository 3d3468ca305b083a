"""What runs in processes of its own while ``buffer`` measures: a producer, and a learner that learns nothing."""

import asyncio
import time
import uuid
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

import ray
from torch import Tensor

from app.stores.buffer import Buffer, Taken
from app.stores.buffer_settings import BatchLayout
from app.stores.host import StoreHandle
from deployments.pusher import Pusher
from train.bench.buffer_cases import Case, trajectories, trajectory_rows
from train.collate import Collate, device_batches
from train.data import stream
from train.tickets import ticket_rows

TAKE_TIMEOUT_S: Final = 120.0
"""Longest wait for a batch."""
REFUSED_PAUSE_S: Final = 0.01
"""Pause of the producer when the shard is full."""
RELEASES_UNDER_WAY: Final = 8
"""Releases of credits that the learner does not wait for."""
PUSHES_UNDER_WAY: Final = 2
"""Pushes that the producer does not wait for."""


class Counted(NamedTuple):
    """What a learner got in one window."""

    rows: int
    seconds: float
    waits_s: list[float]
    """How long it waited for each batch."""
    ages_s: list[float]
    """Time from the moment at which each batch left the buffer to that at which it was learned from."""


class TimedBuffer(Buffer):
    """Notes in a file when each batch left the buffer: whoever takes it is another process than the learner."""

    def __init__(self, shards: Sequence[StoreHandle], times: str) -> None:
        super().__init__(shards)
        self._times = times

    def take(self, rank: int, group: str) -> Taken:
        """Returns the next batch or tickets, and notes the time."""
        taken = super().take(rank, group)
        if taken:
            numbers = [t.batch for t in taken] if isinstance(taken, list) else [int(taken["batch"][0])]
            with Path(self._times).open("a", encoding="ascii") as file:
                file.write("".join(f"{number} {time.time_ns()}\n" for number in numbers))
        return taken

    def taken_ns(self) -> dict[int, int]:
        """Returns when each batch left the buffer, in Unix nanoseconds; none where ``ask`` was used."""
        if not Path(self._times).exists():
            return {}
        lines = Path(self._times).read_text(encoding="ascii").splitlines()
        return {int(number): int(time_ns) for number, time_ns in (line.split() for line in lines)}


class Producer:
    """Pushes the same rows again and again, as fast as the shard takes them or at a given rate."""

    def __init__(self, buffer: Buffer, case: Case) -> None:
        self._buffer, self._case = buffer, case
        self._rows = trajectories(case)
        self._number = 0

    async def run(self, rows_per_s: float | None) -> None:
        """Pushes for ever."""
        pushes = (self._push(f"bench{index}", rows_per_s) for index in range(PUSHES_UNDER_WAY))
        await asyncio.gather(*pushes)

    async def _push(self, sender: str, rows_per_s: float | None) -> None:
        pause_s = 0.0 if rows_per_s is None else PUSHES_UNDER_WAY * self._case.push_rows / rows_per_s
        while True:
            began_s = time.monotonic()
            self._number += 1
            number = self._number
            rows = self._rows | {"episode": self._rows["episode"] + number * self._case.push_rows}
            # The shard is another process: it cannot wake us.
            while not await self._buffer.push(sender, number, rows):  # noqa: ASYNC110
                await asyncio.sleep(REFUSED_PAUSE_S)
            if pause_s:
                await asyncio.sleep(max(0.0, began_s + pause_s - time.monotonic()))


class Learner:
    """Takes batches out of the stream, one after another."""

    def __init__(self, buffer: TimedBuffer, layout: BatchLayout, *, plain: bool) -> None:
        self._buffer = buffer
        group = uuid.uuid4().hex
        self._batches = _plain(buffer, layout, group) if plain else _streamed(buffer, layout, group)
        self._releases: deque[ray.ObjectRef[Any]] = deque()
        self._release(next(self._batches))  # Empty: the stream is up.

    def window(self, seconds: float, step_s: float) -> Counted:
        """Returns what came in so many seconds, with a training step of a given length behind each batch."""
        began_s = time.monotonic()
        rows, waits_s = 0, []
        started_ns: dict[int, int] = {}
        while time.monotonic() < began_s + seconds:
            asked_s = time.monotonic()
            batch = next(self._batches)
            waits_s.append(time.monotonic() - asked_s)
            started_ns[int(batch["batch"][0])] = time.time_ns()
            rows += len(batch["batch"])
            if step_s:
                time.sleep(step_s)
            self._release(batch)
        seconds_taken = time.monotonic() - began_s
        taken_ns = self._buffer.taken_ns()
        ages_s = [(at_ns - taken_ns[number]) / 1e9 for number, at_ns in started_ns.items() if number in taken_ns]
        return Counted(rows, seconds_taken, waits_s, ages_s)

    def _release(self, batch: dict[str, Tensor]) -> None:
        self._releases.append(self._buffer.release(0, int(batch["batch"][0])))
        while len(self._releases) > RELEASES_UNDER_WAY:
            ray.get(self._releases.popleft())


class PushCost:
    """Pushes as an actor replica does, and tells the CPU time of its process."""

    async def measure(self, buffer: Buffer, case: Case, pushes: int, push_rows: int) -> float:
        """Returns the CPU microseconds of a row, from a finished trajectory to the acknowledged push."""
        counts: Counter[str] = Counter()
        pusher = Pusher(buffer, case.spec, push_rows, 1.0, counts)
        rows = trajectory_rows(case)
        began_s, total = time.process_time(), 0
        for push in range(pushes):
            for part in range(push_rows // case.fragment_rows):
                episode = push * push_rows + part
                pusher.add([row._replace(episode=episode) for row in rows])
                total += len(rows)
            await pusher.flush()
        cpu_s = time.process_time() - began_s
        began_s = time.process_time()
        for push in range(pushes * (push_rows // case.fragment_rows)):
            [row._replace(episode=push) for row in rows]
        return 1e6 * (cpu_s - (time.process_time() - began_s)) / total  # Making the rows is not part of a push.


def _streamed(buffer: Buffer, layout: BatchLayout, group: str) -> Iterator[dict[str, Tensor]]:
    yield from device_batches(stream(buffer, layout, 0, group, 1).iterator(), buffer, layout)


def _plain(buffer: Buffer, layout: BatchLayout, group: str) -> Iterator[dict[str, Tensor]]:
    """Yields batches straight from the shard, and asks for the next one before it hands out the last."""
    buffer.open(0, group)
    asked, collate = buffer.ask(0, group), Collate(buffer, layout)
    while (taken := cast("Taken", ray.get(asked, timeout=TAKE_TIMEOUT_S))) is not None:
        asked = buffer.ask(0, group)
        if isinstance(taken, list):
            yield from collate(ticket_rows(taken, layout.tickets))
        elif taken:
            yield from collate(taken)
