"""The cluster that ``buffer`` measures in, with a buffer for each measurement."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, cast

import psutil
import ray

from app.config.base import Process
from app.config.root import ExperimentConfig
from app.replay.supply import WhenFull
from app.stores.buffer_settings import BatchLayout, BufferSettings, batch_layout
from app.stores.buffer_store import BufferStore
from app.stores.host import StoreHandle, open_host
from deployments.port import free_port
from train.bench.buffer_actors import Learner, Producer, PushCost, TimedBuffer
from train.bench.buffer_cases import Case
from train.launch.ring import Ring
from train.launch.stopping import Stopper

NAMESPACE: Final = "bench.buffer"
START_TIMEOUT_S: Final = 120.0
"""Longest start of Ray, or of a stream."""
OBJECT_STORE_BYTES: Final = 2 * 2**30
"""Shared memory: the largest case keeps ten batches of 15 MiB."""


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
