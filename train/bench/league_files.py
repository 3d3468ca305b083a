"""What a large league's files cost: an entry of its journal, and a snapshot beside an event loop."""

import asyncio
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from app.league.events import Opened, to_bytes
from app.league.image import image_of, parts_of
from app.league.journal import Journal, segment_path
from app.league.keeping import save
from app.league.league import League
from app.league.matches import Entry
from app.types import Purpose
from train.bench.cells import WINDOWS_MIN
from train.bench.statistics import figure
from train.launch.stopping import Stopper

ENTRY_MS_MAX: Final = 1.0
SNAPSHOT_MS_MAX: Final = 50.0
"""Aims."""
ENTRIES: Final = 2_000
"""Journal entries of one window."""
SNAPSHOTS: Final = 8
"""Snapshots of one window."""
BEAT_S: Final = 0.001
"""Seconds between two looks at whether the event loop runs."""
AT_ONCE: Final = 64
"""Changes that wait for the disk together: a write serves all that have come."""


class Snapshot(NamedTuple):
    """What one snapshot cost, in milliseconds."""

    loop_cpu: float
    """CPU in the event loop, which waits for it."""
    thread_cpu: float
    """CPU in the thread that writes."""
    taken: float
    """From its begin to its end on the disk."""
    held: float
    """Longest time that nothing else ran in the event loop."""


def entry_ms(folder: Path, window: int, stopper: Stopper) -> tuple[float, float]:
    """Returns the milliseconds of a journal entry: without the disk, and with it where many wait together."""
    event = Opened(1, 0.0, Purpose.TRAIN, (Entry("main_agent", 1, True, 1), Entry("main_agent:7", 7, False, 1)))
    journal = Journal(folder / f"plain-{window}", 1, fsync=False)
    began_s = time.perf_counter()
    for _ in range(ENTRIES):
        journal.append(to_bytes(event))
        journal.write()
    plain = 1e3 * (time.perf_counter() - began_s) / ENTRIES
    journal.close()
    stopper.check()
    journal = Journal(folder / f"synced-{window}", 1, fsync=True)
    began_s = time.perf_counter()
    for number in range(1, ENTRIES + 1):
        journal.append(to_bytes(event))
        if number % AT_ONCE == 0:
            journal.write()
    synced = 1e3 * (time.perf_counter() - began_s) / ENTRIES
    journal.close()
    return plain, synced


def bare_entry_ms(folder: Path) -> float:
    """Returns the milliseconds in which the disk takes as many bytes as an entry has, by itself."""
    with (folder / "bare").open("wb", buffering=0) as file:
        began_s = time.perf_counter()
        for _ in range(AT_ONCE):
            file.write(bytes(100))
            os.fsync(file.fileno())
        return 1e3 * (time.perf_counter() - began_s) / AT_ONCE


def snapshots_ms(folder: Path, subject: League, stopper: Stopper) -> Snapshot:
    """Returns what a snapshot of a window costs: the mean of several, and the longest time that one held the loop."""
    costs = []
    for _ in range(SNAPSHOTS):
        stopper.check()
        costs.append(asyncio.run(snapshot_ms(folder, subject)))
    loop_cpu, thread_cpu, taken, _ = np.mean(costs, axis=0).tolist()
    return Snapshot(loop_cpu, thread_cpu, taken, max(cost.held for cost in costs))


async def snapshot_ms(folder: Path, subject: League) -> Snapshot:
    """Returns what a snapshot costs, while something else runs in the same event loop."""
    if not segment_path(folder, 1).exists():
        Journal(folder, 1).close()
    ended = asyncio.Event()
    watch = asyncio.create_task(_longest_gap_ms(ended))
    await asyncio.sleep(10 * BEAT_S)
    began_s, loop_s = time.perf_counter(), time.thread_time()
    image = image_of(subject.state)
    loop_s = time.thread_time() - loop_s

    def write() -> float:
        thread_s = time.thread_time()
        save(folder, 1, image)
        return time.thread_time() - thread_s

    thread_s = await asyncio.to_thread(write)
    taken_s = time.perf_counter() - began_s
    ended.set()
    return Snapshot(1e3 * loop_s, 1e3 * thread_s, 1e3 * taken_s, await watch)


async def _longest_gap_ms(ended: asyncio.Event) -> float:
    longest_s, last_s = 0.0, time.perf_counter()
    while not ended.is_set():
        await asyncio.sleep(BEAT_S)
        now_s = time.perf_counter()
        longest_s, last_s = max(longest_s, now_s - last_s - BEAT_S), now_s
    return 1e3 * longest_s


def bare_write_ms(folder: Path, subject: League) -> float:
    """Returns the milliseconds in which the disk takes as many bytes as a snapshot has."""
    data = b"".join(parts_of(image_of(subject.state)))
    began_s = time.perf_counter()
    with (folder / "bare").open("wb", buffering=0) as file:
        file.write(data)
        os.fsync(file.fileno())
    return 1e3 * (time.perf_counter() - began_s)


def told_entries(costs: Sequence[tuple[float, float]], bare: Sequence[float]) -> dict[str, object]:
    """Returns what a journal entry costs.

    Args:
      costs: Milliseconds without the disk, and with it where many wait together, in each window.
      bare: Milliseconds of the disk by itself, for one entry after the other.
    """
    plain, synced, disk = figure([p for p, _ in costs]), figure([s for _, s in costs]), figure(bare)
    return {
        "entry_ms": plain.as_dict(),
        "synced_entry_ms": synced.as_dict(),
        "entries_at_once": AT_ONCE,
        "target_ms": ENTRY_MS_MAX,
        "limit": "the disk, one entry after the other",
        "limit_ms": disk.as_dict(),
        "ratio": round(synced.median / disk.median, 3),
        "within": max(plain.median, synced.median) <= ENTRY_MS_MAX,
        "measured": len(costs) >= WINDOWS_MIN and plain.measured and synced.measured,
    }


def told_snapshots(costs: Sequence[Snapshot], bare: Sequence[float]) -> dict[str, object]:
    """Returns what a snapshot costs; what it takes is CPU, since other programs and the disk have their part in time.

    Args:
      costs: Of each window.
      bare: Milliseconds in which the disk takes as many bytes.
    """
    cpu = figure([cost.loop_cpu + cost.thread_cpu for cost in costs])
    taken, disk = figure([cost.taken for cost in costs]), figure(bare)
    return {
        "cpu_ms": cpu.as_dict(),
        "loop_cpu_ms": figure([cost.loop_cpu for cost in costs]).as_dict(),
        "snapshot_ms": taken.as_dict(),
        "loop_held_ms": figure([cost.held for cost in costs]).as_dict(),
        "target_ms": SNAPSHOT_MS_MAX,
        "limit": "the disk, as many bytes",
        "limit_ms": disk.as_dict(),
        "ratio": round(taken.median / disk.median, 3),
        "within": cpu.median <= SNAPSHOT_MS_MAX,
        "measured": len(costs) >= WINDOWS_MIN and cpu.measured,
    }
