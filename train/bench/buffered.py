"""The processes that ``buffer`` measures: a producer, a shard, and a learner behind it."""

import asyncio
import tempfile
import time
import uuid
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

import numpy as np
import psutil
import ray
from torch import Tensor

from app.agents.unroll import Row
from app.config.base import Process
from app.config.buffers import BufferConfig
from app.config.root import ExperimentConfig
from app.models.distributions.categorical import Categorical
from app.models.spec import ArraySpec, ModelSpec
from app.replay.rows import empty_batch
from app.replay.supply import WhenFull
from app.stores.buffer import Buffer, Taken
from app.stores.buffer_settings import BatchLayout, BufferSettings, batch_layout
from app.stores.buffer_store import BufferStore
from app.stores.host import StoreHandle, open_host
from app.types import RowKind, Rows
from deployments.pusher import Pusher
from train.bench.service import free_port
from train.collate import Collate, device_batches, ticket_rows
from train.data import stream
from train.launch.ring import Ring
from train.launch.stopping import Stopper

NAMESPACE: Final = "bench.buffer"
START_TIMEOUT_S: Final = 120.0
"""Longest start of Ray, or of a stream."""
OBJECT_STORE_BYTES: Final = 2 * 2**30
"""Shared memory: the largest case keeps ten batches of 15 MiB."""
REFUSED_PAUSE_S: Final = 0.01
"""Pause of the producer when the shard is full."""
RELEASES_UNDER_WAY: Final = 8
"""Releases of credits that the learner does not wait for."""
PUSHES_UNDER_WAY: Final = 2
"""Pushes that the producer does not wait for."""


@dataclass(frozen=True, slots=True)
class Case:
    """Rows of one kind."""

    name: str
    observation: tuple[int, ...]
    dtype: str
    fragment_rows: int
    """Rows of one trajectory, its bootstrap row included."""
    push_rows: int
    batch_rows: int
    capacity_rows: int
    target_rows_per_s: float

    @property
    def spec(self) -> ModelSpec:
        """Returns the shapes of the model whose rows these are."""
        return ModelSpec(ArraySpec(self.observation, self.dtype), Categorical(2))

    @property
    def row_bytes(self) -> int:
        """Returns the size of a row."""
        return batch_layout(self.spec, self.settings(WhenFull.REFUSE)).bytes // self.batch_rows

    def settings(self, when_full: WhenFull, credits_batches: int = 2) -> BufferSettings:
        """Returns how the buffer deals out batches."""
        ticket_bytes = int(BufferConfig().ticket_mb * 2**20)
        return BufferSettings(
            self.batch_rows, 1, self.capacity_rows, credits_batches, 5.0, when_full=when_full, ticket_bytes=ticket_bytes
        )


CARTPOLE: Final = Case("cartpole", (4,), "float32", 64, 4096, 4096, 8 * 4096, 400_000)
ATARI: Final = Case("atari", (4, 84, 84), "uint8", 128, 128, 512, 4 * 512, 13_400)


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
        """Returns when each batch left the buffer, in Unix nanoseconds."""
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


def trajectories(case: Case) -> Rows:
    """Returns the rows of one push."""
    rows = empty_batch(case.spec, case.push_rows)
    at = np.arange(case.push_rows)
    last = (at + 1) % case.fragment_rows == 0
    rows["kind"][:] = np.where(last, RowKind.TERMINATED, RowKind.STEP)
    rows["weight"][:] = ~last
    rows["tick"][:] = at % case.fragment_rows
    rows["episode"][:] = at // case.fragment_rows
    rows["generation"][:] = 1
    return rows


def trajectory_rows(case: Case) -> list[Row]:
    """Returns one trajectory as an agent's unroll hands it over."""
    observation, mask = np.zeros(case.observation, case.dtype), np.ones(2, np.uint8)
    last = case.fragment_rows - 1
    return [
        Row(observation, 1, mask, None, 1.0, -0.7, 0.5, int(RowKind.TERMINATED if tick == last else RowKind.STEP),
            float(tick != last), 1, 1, 0, tick)
        for tick in range(case.fragment_rows)
    ]  # fmt: skip


class Buffered:
    """A cluster of its own, with a buffer for each measurement."""

    def __init__(self, folder: str) -> None:
        """Keeps where files may be written that end with the measurement."""
        self._folder, self._made = folder, 0

    def buffer(self, case: Case, settings: BufferSettings) -> tuple[TimedBuffer, BatchLayout]:
        """Returns a new buffer; the one before is gone."""
        self._made += 1
        kwargs = {"spec": case.spec, "settings": settings}
        host = open_host(NAMESPACE, f"buffer{self._made}", Process(), {"buffer": (BufferStore, kwargs)})
        buffer = TimedBuffer([StoreHandle(host, "buffer")], f"{self._folder}/times{self._made}")
        return buffer, batch_layout(case.spec, settings)

    @contextmanager
    def learner(
        self, case: Case, settings: BufferSettings, *, plain: bool, rows_per_s: float | None = None
    ) -> Iterator[Any]:
        """Runs producer, shard and learner for as long as the block runs; yields the learner."""
        buffer, layout = self.buffer(case, settings)
        producer = cast("Any", ray.remote(Producer)).options(num_cpus=0, max_concurrency=2).remote(buffer, case)
        producer.run.remote(rows_per_s)
        learner = cast("Any", ray.remote(Learner)).options(num_cpus=0).remote(buffer, layout, plain=plain)
        try:
            yield learner
        finally:
            for actor in (learner, producer, ray.get_actor(f"buffer{self._made}", namespace=NAMESPACE)):
                ray.kill(actor)

    def push_cost_us(self, case: Case, pushes: int, push_rows: int) -> float:
        """Returns the CPU microseconds of a pushed row."""
        buffer, _ = self.buffer(case, case.settings(WhenFull.DROP_OLDEST))
        pusher = cast("Any", ray.remote(PushCost)).options(num_cpus=0).remote()
        try:
            return float(ray.get(pusher.measure.remote(buffer, case, pushes, push_rows), timeout=START_TIMEOUT_S))
        finally:
            for actor in (pusher, ray.get_actor(f"buffer{self._made}", namespace=NAMESPACE)):
                ray.kill(actor)


@contextmanager
def buffering(stopper: Stopper) -> Iterator[Buffered]:
    """Starts Ray for the block; then all its processes are gone."""
    config = ExperimentConfig.model_validate({"run": {"project": "bench", "trial": "buffer"}})
    ring = Ring(config, free_port(), START_TIMEOUT_S, stopper, OBJECT_STORE_BYTES)
    with tempfile.TemporaryDirectory(prefix="sparring-bench-") as folder:
        try:
            ring.start_ray()
            yield Buffered(folder)
        finally:
            ring.close()


def cpu_s_of_children() -> float:
    """Returns the CPU seconds of all processes that this one has started, those that are gone not included."""
    total = 0.0
    for process in psutil.Process().children(recursive=True):
        try:
            times = process.cpu_times()
        except psutil.Error:
            continue
        total += times.user + times.system
    return total


def _streamed(buffer: Buffer, layout: BatchLayout, group: str) -> Iterator[dict[str, Tensor]]:
    yield from device_batches(stream(buffer, layout, 0, group, 1).iterator(), buffer, layout)


def _plain(buffer: Buffer, layout: BatchLayout, group: str) -> Iterator[dict[str, Tensor]]:
    """Yields batches straight from the shard, and asks for the next one before it hands out the last."""
    buffer.open(0, group)
    asked, collate = buffer.ask(0, group), Collate(buffer, layout)
    while (taken := cast("Taken", ray.get(asked, timeout=START_TIMEOUT_S))) is not None:
        asked = buffer.ask(0, group)
        if isinstance(taken, list):
            yield from collate(ticket_rows(taken, layout.tickets))
        elif taken:
            yield from collate(taken)
