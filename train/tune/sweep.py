"""How fast an engine is at each size of batch, and which size to take."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from train.bench.statistics import Figure, figure

WINDOWS: Final = 5
"""Windows of each size: a median over fewer would say little."""
WARM_UP_CALLS: Final = 3
"""Calls before the first window: engines plan and allocate for each new size."""


@dataclass(frozen=True, slots=True)
class Size:
    """What one size of batch came to, at one precision."""

    precision: str
    rows: int
    observations_per_s: Figure
    p50_ms: float
    p99_ms: float

    def as_dict(self) -> dict[str, object]:
        """Returns it for a JSON line."""
        return {
            "precision": self.precision,
            "rows": self.rows,
            "observations_per_s": self.observations_per_s.as_dict(),
            "p50_ms": round(self.p50_ms, 4),
            "p99_ms": round(self.p99_ms, 4),
        }


def sizes_up_to(max_rows: int) -> list[int]:
    """Returns 1, 2, 4, … and the largest."""
    doubling = [2**power for power in range(max_rows.bit_length()) if 2**power < max_rows]
    return [*doubling, max_rows]


def measure(
    precision: str, rows: int, forward: Callable[[], object], seconds: float, clock: Callable[[], float]
) -> Size:
    """Returns how fast one size is.

    Args:
      precision: Of the engine.
      rows: Observations that ``forward`` answers.
      forward: Answers a batch.
      seconds: Length of each window; one has at least one call.
      clock: Returns seconds.
    """
    for _ in range(WARM_UP_CALLS):
        forward()
    rates, latencies_s = [], []
    for _ in range(WINDOWS):
        window_s = _window(forward, seconds, clock)
        rates.append(rows * len(window_s) / sum(window_s))
        latencies_s += window_s
    p50_s, p99_s = np.percentile(latencies_s, [50, 99]).tolist()
    return Size(precision, rows, figure(rates), 1e3 * p50_s, 1e3 * p99_s)


def best(sizes: Sequence[Size], latency_ms: float) -> Size | None:
    """Returns the size with the largest throughput whose p99 is within the limit; None where none is."""
    fast = [size for size in sizes if size.p99_ms <= latency_ms]
    return max(fast, key=lambda size: size.observations_per_s.median, default=None)


def _window(forward: Callable[[], object], seconds: float, clock: Callable[[], float]) -> list[float]:
    """Returns how long each call of a window took."""
    took_s: list[float] = []
    begin_s = now_s = clock()
    while not took_s or now_s - begin_s < seconds:
        forward()
        before_s, now_s = now_s, clock()
        took_s.append(now_s - before_s)
    return took_s
