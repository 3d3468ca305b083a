"""What ``ticks`` measures, and what the windows of one cell say together."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from train.bench.generator import Load, Mode, Window
from train.bench.statistics import figure

BATCH_STEPS: Final = 64
"""Steps in one request of a mode that sends batches: a game core with 64 games."""
GENERATOR_SHARE_MAX: Final = 0.4
"""Share of a core from which on the load generator itself may be what limits a cell."""
WINDOWS_MIN: Final = 5
"""Windows from which on a median counts as measured."""
_BATCHED: Final = (Mode.STEPS, Mode.BATCH)


@dataclass(frozen=True, slots=True)
class Cell:
    """One transport, one number of connections, one size of body."""

    mode: Mode
    connections: int
    body_bytes: int

    def load(self, port: int, seconds: float) -> Load:
        """Returns the load of one window."""
        sessions = BATCH_STEPS if self.mode in _BATCHED else 1
        return Load(self.mode, port, self.connections, sessions, self.body_bytes, seconds)

    @property
    def limit(self) -> str:
        """Returns which bare server is this cell's limit."""
        return "http" if self.mode in (Mode.HTTP, Mode.STEPS) else "frames"

    def limit_load(self, port: int, seconds: float) -> Load:
        """Returns the load of one window of the limit, with requests of the same size."""
        load = self.load(port, seconds)
        if self.limit == "http":
            return load  # The bare server's answer to a batch is the batch itself, which has the right bodies.
        return replace(load, mode=Mode.BRAY, sessions=1, body_bytes=self.body_bytes * load.sessions)

    @property
    def steps_per_limit_tick(self) -> int:
        """Returns how many of this cell's steps one tick of the limit stands for."""
        return BATCH_STEPS if self.mode is Mode.BATCH else 1


def cells(modes: Sequence[Mode], connections: Sequence[int], bodies: Sequence[int]) -> list[Cell]:
    """Returns all combinations."""
    return [Cell(mode, count, size) for mode in modes for count in connections for size in bodies]


def told(windows: Sequence[Window]) -> dict[str, object]:
    """Returns what windows of the same load say; one with an error says that nothing was measured."""
    errors = sum(window.errors for window in windows)
    first = next((window.first_error for window in windows if window.errors), "")
    if not all(window.ticks for window in windows):
        return {"measured": False, "errors": errors, "first_error": first}
    cpu = figure([window.cpu_us for window in windows])
    rate = figure([window.ticks_per_s for window in windows])
    share = max(window.generator_share for window in windows)
    enough = len(windows) >= WINDOWS_MIN
    return {
        "measured": enough and not errors and cpu.measured and rate.measured,
        "cpu_us": cpu.as_dict(),
        "ticks_per_s": rate.as_dict(),
        "p50_ms": figure([window.p50_ms for window in windows]).as_dict(),
        "p99_ms": figure([window.p99_ms for window in windows]).as_dict(),
        "max_ms": round(max(window.max_ms for window in windows), 3),
        "errors": errors,
        "first_error": first,
        "generator_share": round(share, 2),
        "generator_may_limit": share > GENERATOR_SHARE_MAX,
    }


def told_with_limit(cell: Cell, windows: Sequence[Window], bare: Sequence[Window]) -> dict[str, object]:
    """Returns what a cell's windows say, next to the bare server's that were measured between them."""
    result: dict[str, object] = {
        "transport": cell.mode,
        "connections": cell.connections,
        "body_bytes": cell.body_bytes,
        **told(windows),
        "limit": f"bare {cell.limit} echo",
        "limit_errors": sum(window.errors for window in bare),
    }
    if not all(window.ticks for window in (*windows, *bare)):
        return result
    limit_us = figure([window.cpu_us / cell.steps_per_limit_tick for window in bare])
    limit_rate = figure([window.ticks_per_s * cell.steps_per_limit_tick for window in bare])
    cpu = figure([window.cpu_us for window in windows])
    return result | {
        "limit_cpu_us": limit_us.as_dict(),
        "limit_ticks_per_s": limit_rate.as_dict(),
        "ratio": round(cpu.median / limit_us.median, 2) if limit_us.median else None,
    }
