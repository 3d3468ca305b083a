"""Games that play ten times as many rows as the learner takes: nothing grows, what is dropped is counted."""

import contextlib
import time
from collections.abc import Iterable
from pathlib import Path

import httpx
import numpy as np
import psutil
import pytest

from .service import Cluster, Service, playing, wait_until
from .training import training, updates

pytestmark = [pytest.mark.ray, pytest.mark.long]

FLOOD_S = 60.0
SETTLED_S = 30.0
"""Time until everything that is bounded has grown to its bound: sketches, sessions that are remembered."""
GROWTH_MIB_MAX = 25.0
"""Of any process between the two looks; kept rows would be more."""
SLOW = ("trainers.main.inputs.0.algorithm.epochs=400", "buffers.rollouts.max_policy_lag=1000")


def test_memory_stays_flat_drops_are_counted_and_ticks_are_answered(cluster: Cluster, tmp_path: Path) -> None:
    with Service(cluster, "flood", *SLOW) as service, training(service, tmp_path), playing(service.url):
        updates(service, lambda found: len(found) > 2, "updates")
        time.sleep(SETTLED_S)  # What is measured is time: memory between two moments.
        buffer, before_mib = service.trial.buffer("rollouts"), pss_by_process(own())
        first, latencies = buffer.stats(), []
        end_s = time.monotonic() + FLOOD_S
        with service.new_client() as http:
            while time.monotonic() < end_s:
                latencies.append(tick_s(http, len(latencies)))
        last, after_mib = buffer.stats(), pss_by_process(own())
        inserted, popped = last.inserted - first.inserted, last.popped - first.popped
        assert inserted > 10 * popped, f"{inserted} rows came and {popped} were learned from"
        assert last.inserted == last.popped + last.dropped + last.held
        assert last.held <= 256 + 2 * 64 + 64
        assert last.under_way <= 2
        grown = {process: after_mib[process] - before_mib[process] for process in before_mib.keys() & after_mib.keys()}
        assert {name.split("::")[0] for _, name in grown} >= {"ray"}
        assert not {process: mib for process, mib in grown.items() if mib > GROWTH_MIB_MAX}
        assert float(np.quantile(latencies, 0.99)) < 1.0
        wait_until(lambda: service.trial.metrics.updates_after(2), "the learner goes on")


def own() -> list[int]:
    """Returns the processes that this one has started."""
    return [process.pid for process in psutil.Process().children(recursive=True)]


def pss_by_process(pids: Iterable[int]) -> dict[tuple[int, str], float]:
    """Returns the proportional set size of those of some processes that are Ray's, in MiB, by number and name."""
    found: dict[tuple[int, str], float] = {}
    for pid in pids:
        with contextlib.suppress(psutil.Error, IndexError):
            process = psutil.Process(pid)
            name = process.cmdline()[0]
            if name.startswith("ray::") and not name.startswith("ray::IDLE"):
                found[pid, name] = process.memory_full_info().pss / 2**20
    return found


def tick_s(http: httpx.Client, number: int) -> float:
    """Returns how long a tick of a game beside the others takes."""
    session = {"session": f"beside{number}"}
    http.post("/step", headers=session | {"step_kind": "start", "purpose": "play"}).raise_for_status()
    began_s = time.monotonic()
    tick = http.post("/step", headers=session | {"step_kind": "tick"}, json={"observation": [0, 0, 0, 0]})
    took_s = time.monotonic() - began_s
    tick.raise_for_status()
    http.post("/step", headers=session | {"step_kind": "stop"}).raise_for_status()
    return took_s
