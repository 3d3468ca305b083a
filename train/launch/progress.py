"""Shows how a launch goes: a live table on a terminal, plain lines elsewhere."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from rich.console import Console
from rich.live import Live
from rich.table import Table

from app.stores.metrics_values import Progress as RingProgress
from train.launch.result import of_inputs

LINE_EVERY_S: Final = 5.0
"""Seconds between two plain lines."""
REDRAW_PER_S: Final = 4


class Progress:
    """What the user sees while a launch runs; it goes to stderr, so that stdout ends with the result."""

    def __init__(self, started_s: float) -> None:
        """Begins.

        Args:
          started_s: Unix time of the start.
        """
        self.console = Console(stderr=True)
        self.started_s = started_s
        self._stage = "starting"
        self._live: Live | None = None
        self._last: RingProgress | None = None
        self._rate = 0.0
        self._line_s = 0.0

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Shows the live table for as long as the block runs; on a pipe it shows nothing of its own."""
        if not self.console.is_terminal:
            yield
            return
        with Live(self._table(), console=self.console, refresh_per_second=REDRAW_PER_S, transient=True) as live:
            self._live = live
            try:
                yield
            finally:
                self._live = None

    def elapsed_s(self) -> float:
        """Returns the seconds since the start."""
        return time.time() - self.started_s

    def stage(self, name: str) -> None:
        """Notes what happens from now on."""
        self._stage = name
        self.console.print(f"[dim]{self.elapsed_s():6.1f} s[/]  {name}", highlight=False)
        self._redraw()

    def update(self, ring: RingProgress) -> None:
        """Takes the ring's newest figures."""
        if self._last is not None and ring.time_s > self._last.time_s:
            self._rate = (ring.ticks - self._last.ticks) / (ring.time_s - self._last.time_s)
        self._last = ring
        if self._live is not None:
            self._redraw()
        elif time.time() - self._line_s >= LINE_EVERY_S:
            self._line_s = time.time()
            text = "  ".join(f"{name} {value}" for name, value in self._figures())
            self.console.print(f"{self.elapsed_s():6.1f} s  {text}", highlight=False, soft_wrap=True)

    def _redraw(self) -> None:
        if self._live is not None:
            self._live.update(self._table())

    def _table(self) -> Table:
        table = Table(title=self._stage, show_header=False, box=None, title_justify="left", title_style="bold")
        for name, value in [("elapsed", f"{self.elapsed_s():.1f} s"), *self._figures()]:
            table.add_row(f"[dim]{name}[/]", value)
        return table

    def _figures(self) -> list[tuple[str, str]]:
        ring = self._last
        if ring is None:
            return []
        last = ring.last
        mean = "-" if ring.mean_return is None else f"{ring.mean_return:.1f}"
        return [
            ("mean return", mean),
            ("games", str(ring.episodes)),
            ("ticks", f"{ring.ticks:,}"),
            ("ticks/s", f"{self._rate:,.0f}"),
            ("updates", str(ring.updates)),
            ("lag", _shown(last, "lag_mean", 2)),
            ("loss", _shown(last, "loss_total", 4)),
            ("entropy", _shown(last, "entropy", 3)),
        ]


def _shown(metrics: Mapping[str, float], name: str, digits: int) -> str:
    """Returns a metric of an update's inputs as text; of one alone where the others' turn has not come."""
    return ", ".join(f"{value:.{digits}f}" for value in of_inputs(metrics, name)) or "-"
