"""A prioritized table of a million items, as a shard holds it."""

import time
from typing import Final

import numpy as np

from app.config.tables import PrioritizedSampling, TableConfig
from app.replay.rows import empty_batch
from app.replay.sample import Keys
from app.replay.supply import Supply, joined
from app.stores.buffer_settings import BufferSettings
from app.stores.supplies import make_supply
from app.types import RowKind
from train.bench.buffer_cases import CARTPOLE

ITEMS: Final = 1_000_000
BATCH_ITEMS: Final = 256
LOOPS: Final = 200
"""Samples and updates of one figure."""
PUSH_ROWS: Final = 50_000


def prioritized_ms() -> float:
    """Returns the CPU milliseconds of one sample and one update of priorities, keys and weights included."""
    supply, rng = _full(), np.random.default_rng(0)
    priorities = [rng.random(BATCH_ITEMS) for _ in range(LOOPS)]
    began_s = time.process_time()
    for given in priorities:
        batch = joined(supply.draw() or [])
        supply.update_priorities(Keys(batch["key_slot"].astype(np.intp), batch["key_number"].astype(np.int64)), given)
    return 1e3 * (time.process_time() - began_s) / LOOPS


def _full() -> Supply:
    """Returns a table that is full."""
    table = TableConfig(capacity_items=ITEMS, sampler=PrioritizedSampling())
    supply = make_supply(CARTPOLE.spec, BufferSettings(BATCH_ITEMS, 1, 1, 2, 5.0, table=table), 0)
    rows = empty_batch(CARTPOLE.spec, PUSH_ROWS)
    rows["kind"][:-1] = RowKind.STEP
    for _ in range(-(-ITEMS // (PUSH_ROWS - 1))):
        supply.insert(rows)
    return supply
