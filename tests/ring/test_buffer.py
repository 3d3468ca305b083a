"""Buffers of several shards, tables and large batches, between processes; the tests take the place of both sides."""

import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count, islice
from pathlib import Path
from typing import Any, Final

import numpy as np
import psutil
import pytest
import ray

from app.config.root import ExperimentConfig
from app.errors import CheckpointError
from app.replay.rows import empty_batch
from app.replay.supply import joined
from app.stores.buffer import KEY_COLUMNS, Buffer
from app.stores.buffer_settings import batch_layout, buffer_settings
from app.stores.dealer import EMPTY
from app.stores.host import close_hosts
from app.stores.names import buffer_host, namespace_of
from app.stores.table_keeper import Restored
from app.stores.trial import find_buffer, open_buffer
from app.types import RowKind, Rows, Version
from tests.small_policy import discrete
from train.collate import device_batches
from train.data import stream

from .service import Cluster, wait_until

pytestmark = pytest.mark.ray

SPEC = discrete((8,), 2)
BATCH_ROWS: Final = 64
ROUNDS: Final = 12


def config_of(trial: str, workers: int = 1, **buffer: Any) -> ExperimentConfig:
    inputs = [{"buffer": "rows", "batch_rows": BATCH_ROWS, "algorithm": {"minibatch_rows": 64}}]
    return ExperimentConfig.model_validate(
        {
            "run": {"project": "buffers", "trial": trial},
            "buffers": {"rows": {"heartbeat_s": 0.5} | buffer},
            "trainers": {"main": {"model": "main", "inputs": inputs, "workers": workers}},
        }
    )


@contextmanager
def opened(config: ExperimentConfig) -> Iterator[Buffer]:
    namespace = namespace_of(config.run)
    open_buffer(config, "rows", SPEC)
    try:
        buffer = find_buffer(namespace, "rows")
        buffer.stats()  # All shards answer: rounds that count begin no earlier.
        yield buffer
    finally:
        close_hosts(namespace)


EPISODES = count(1)


def trajectory(steps: int, version: int = 0) -> Rows:
    rows = empty_batch(SPEC, steps + 1)
    rows["kind"][:] = [RowKind.STEP] * steps + [RowKind.TERMINATED]
    rows["weight"][:] = [1] * steps + [0]
    rows["tick"][:] = np.arange(steps + 1)
    rows["episode"][:] = next(EPISODES)
    rows["generation"][:], rows["version"][:] = 1, version
    return rows


@contextmanager
def pushing(buffer: Buffer, shards: list[int]) -> Iterator[None]:
    """Pushes to some shards for as long as the block runs; one that is away is passed over."""
    stop = threading.Event()

    def run() -> None:
        for number in count():
            if stop.is_set():
                return
            calls = [buffer.push("a", number, trajectory(31), shard) for shard in shards]
            for call in calls:
                try:
                    ray.get(call, timeout=10)
                except ray.exceptions.RayError:
                    continue

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(20)


def taken(buffer: Buffer, rank: int, rounds: int, *, lossy: bool = False) -> list[tuple[int, int, bool]]:
    """Returns batch, shard and whether it holds rows of the next rounds of a worker, which releases each.

    Args:
      buffer: Which.
      rank: Of the worker.
      rounds: How many, at least.
      lossy: Whether a batch may be gone with its shard.
    """
    found: list[tuple[int, int, bool]] = []
    while len(found) < rounds:
        got = buffer.take(rank, "g")
        assert got is not None
        if isinstance(got, list):
            for ticket in got:
                parts = None if ticket.shard == EMPTY else buffer.fetch([ticket])[0]
                assert parts is not None or ticket.shard == EMPTY or lossy
                assert parts is None or len(joined(parts)["kind"]) == BATCH_ROWS
                found.append((ticket.batch, ticket.shard, parts is not None))
        elif got:
            found.append((int(got["batch"][0]), 0, bool(got["weight"].any())))
        for batch, _, _ in found:
            buffer.release(rank, batch)
    return found


def test_two_workers_see_the_same_rounds_of_two_shards(cluster: Cluster) -> None:
    with opened(config_of("rounds", workers=2, shards=2)) as buffer, pushing(buffer, [0, 1]):
        for rank in (0, 1):
            buffer.open(rank, "g")
        with ThreadPoolExecutor(2) as threads:
            first, second = threads.map(lambda rank: taken(buffer, rank, ROUNDS), (0, 1))
        assert [batch for batch, _, _ in first] == [batch for batch, _, _ in second]
        assert [full for _, _, full in first] == [full for _, _, full in second]
        assert {shard for _, shard, _ in (*first, *second)} == {0, 1}
        stats = buffer.stats()
        assert len(stats.shards) == 2
        assert stats.inserted == stats.popped + stats.dropped + stats.held


def test_the_death_of_a_shard_costs_its_rows_and_ends_no_stream(cluster: Cluster) -> None:
    config = config_of("shard", shards=2)
    with opened(config) as buffer, pushing(buffer, [0, 1]):
        buffer.open(0, "g")
        assert any(shard == 1 for _, shard, _ in taken(buffer, 0, ROUNDS))
        host = ray.get_actor(buffer_host("rows", 1), namespace=namespace_of(config.run))
        ray.kill(host, no_restart=False)
        assert sum(full for _, _, full in taken(buffer, 0, ROUNDS, lossy=True)) > 1

        def back() -> bool:
            return any(shard == 1 and full for _, shard, full in taken(buffer, 0, 4, lossy=True))

        wait_until(back, "the shard has rows again")


def test_priorities_reach_the_shard_that_holds_the_items_which_are_saved(cluster: Cluster, tmp_path: Path) -> None:
    table = {"capacity_items": 400, "sampler": {"kind": "prioritized", "exponent": 1.0, "epsilon": 1e-6}}
    with opened(config_of("priorities", shards=2, table=table)) as buffer:
        for shard in (0, 1):
            assert ray.get(buffer.push("a", shard, trajectory(200), shard))
        buffer.open(0, "g")
        seen: dict[int, Rows] = {}
        while len(seen) < 2:
            got = buffer.take(0, "g")
            assert got
            rows = got if isinstance(got, dict) else joined(buffer.fetch(got)[0] or [])
            number = int(got["batch"][0]) if isinstance(got, dict) else got[0].batch
            keys = {name: rows[name].astype(np.int64) for name in KEY_COLUMNS}
            assert sum(ray.get(buffer.update_priorities(keys, np.zeros(BATCH_ROWS)))) == 0
            buffer.release(0, number)
            if rows["weight"].any():
                seen[int(rows["key_shard"][0])] = rows
        assert sum(ray.get(buffer.advance(Version(1, 0)))) == 0
        assert buffer.stats().ignored_priorities == 0
        ray.get(buffer.save_tables(tmp_path / "000001-0000000001"))
        assert sorted(path.name for path in (tmp_path / "000001-0000000001").iterdir()) == ["0.npz", "1.npz"]
        assert buffer.restore_tables(tmp_path / "000001-0000000001") == [Restored()] * 2  # They are in use.
        with pytest.raises(CheckpointError, match="cannot write the table"):
            ray.get(buffer.save_tables(Path("/dev/null/000001-0000000002")))
        assert buffer.stats().held == 400


@pytest.mark.parametrize("ticket_mb", [1e-6, 100.0])
def test_batches_come_whole_through_the_stream(cluster: Cluster, ticket_mb: float) -> None:
    config = config_of(f"stream{int(ticket_mb)}", shards=2, ticket_mb=ticket_mb)
    with opened(config) as buffer, pushing(buffer, [0, 1]):
        layout = batch_layout(SPEC, buffer_settings(config, "rows"))
        batches = device_batches(stream(buffer, layout, 0, "g", 1).iterator(), buffer, layout)
        seen = []
        for batch in islice(batches, ROUNDS):
            assert len(batch["kind"]) == BATCH_ROWS
            assert int(batch["kind"][-1]) != RowKind.STEP
            seen.append(int(batch["batch"][0]))
            buffer.release(0, seen[-1])
        assert seen == list(range(ROUNDS))
        buffer.close()


def test_memory_is_flat_while_a_producer_is_much_faster_than_the_learner(cluster: Cluster) -> None:
    config = config_of("flat", ticket_mb=1e-6)
    with opened(config) as buffer:
        buffer.open(0, "g")
        rows = {name: np.concatenate([trajectory(31)[name] for _ in range(64)]) for name in trajectory(1)}
        number = count()

        def play(pushes: int) -> None:
            for _ in range(pushes):
                fresh = rows | {"episode": rows["episode"] + next(number) * 1000 + 10_000}
                ray.get(buffer.push("fast", next(number), fresh))

        def learn() -> None:
            assert taken(buffer, 0, 1)

        host = ray.get_actor(buffer_host("rows"), namespace=namespace_of(config.run))
        process = psutil.Process(ray.get(host.__ray_call__.remote(lambda _: os.getpid())))
        for _ in range(30):
            play(10)
            learn()
        before = process.memory_full_info().uss
        for _ in range(60):
            play(10)
            learn()
        grown = process.memory_full_info().uss - before
        stats = buffer.stats()
        assert stats.inserted > 10 * stats.popped
        assert stats.dropped > 0.8 * stats.inserted
        assert stats.held < 3 * len(rows["kind"])
        assert grown < 16 * 2**20  # 100 MiB of rows have come and gone.
