"""Games that play ten times as many rows as the learner takes: nothing grows, what is dropped is counted."""

import time
from pathlib import Path

import httpx
import numpy as np
import pytest

from train.launch.memory import pss_mib

from .service import Cluster, Service, playing, wait_until
from .training import training, updates

pytestmark = [pytest.mark.ray, pytest.mark.timeout(300)]

FLOOD_S = 60.0
SETTLED_S = 15.0
GROWTH_MIB_MAX = 60.0
"""Of all processes together, between the two looks: pages that allocators touch late."""
SLOW = ("trainers.main.inputs.0.algorithm.epochs=400", "buffers.rollouts.max_policy_lag=1000")


def test_memory_stays_flat_drops_are_counted_and_ticks_are_answered(cluster: Cluster, tmp_path: Path) -> None:
    with Service(cluster, "flood", *SLOW) as service, training(service, tmp_path), playing(service.url):
        updates(service, lambda found: len(found) > 2, "updates")
        time.sleep(SETTLED_S)  # What is measured is time: memory between two moments.
        buffer, before_mib = service.trial.buffer("rollouts"), pss_mib()
        first, latencies = buffer.stats(), []
        end_s = time.monotonic() + FLOOD_S
        with service.new_client() as http:
            while time.monotonic() < end_s:
                latencies.append(tick_s(http, len(latencies)))
        last, after_mib = buffer.stats(), pss_mib()
        inserted, popped = last.inserted - first.inserted, last.popped - first.popped
        assert inserted > 10 * popped, f"{inserted} rows came and {popped} were learned from"
        assert last.inserted == last.popped + last.dropped + last.held
        assert last.held <= 256 + 2 * 64 + 64
        assert last.under_way <= 2
        assert after_mib - before_mib < GROWTH_MIB_MAX, f"{before_mib:.0f} MiB became {after_mib:.0f}"
        assert float(np.quantile(latencies, 0.99)) < 1.0
        wait_until(lambda: service.trial.metrics.updates_after(2), "the learner goes on")


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
