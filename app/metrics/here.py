"""The series of this process, for code anywhere: ``record("damage", 3.0, weapon="axe")``.

The process's own loop tells the metric store of them about once a second. Code that runs at every tick binds its
series once: ``TICK = series(names.TICK_SECONDS, part="agent")``, and calls ``TICK.add(0.002)``.
"""

from typing import Final

from app.metrics.registry import Registry

PROCESS: Final = Registry()
"""All series of this process; tests make registries of their own."""

record = PROCESS.record
"""Takes one more value of a distribution: ``record(name, value, **labels)``."""
series = PROCESS.series
"""Returns the series of a metric with these labels: ``series(metric, **labels)``."""
