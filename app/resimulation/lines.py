"""A comparison as lines of text."""

from collections.abc import Iterator
from typing import Final

from app.resimulation.comparison import Comparison, TickComparison

SHOWN: Final = 50
"""Ticks that are told; JSON has all of them."""


def lines(comparison: Comparison) -> Iterator[str]:
    """Yields a summary, and the ticks in which the other model acts differently."""
    differing, ticks = comparison.differing, len(comparison.ticks)
    kl = "" if comparison.mean_kl is None else f", mean KL {comparison.mean_kl:.4f} nats"
    yield (
        f"session {comparison.session}: {comparison.against} acts differently in {len(differing)} of {ticks} ticks{kl}"
    )
    for tick in differing[:SHOWN]:
        yield f"  {_line(tick)}"
    if len(differing) > SHOWN:
        yield f"  and {len(differing) - SHOWN} more; --json tells all"


def _line(tick: TickComparison) -> str:
    if tick.error is not None:
        return f"step {tick.seq}: {tick.error}"
    return (
        f"step {tick.seq}: {tick.action} (version {tick.version}, probability {_number(tick.probability)}, value "
        f"{tick.value}) becomes {tick.other_action} (probability of {tick.action} {_number(tick.other_probability)}, "
        f"value {tick.other_value})"
    )


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.3f}"
