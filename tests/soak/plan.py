"""Which faults a soak makes, and when: the same for the same seed and length."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

Kind = Literal["replica", "rank", "shard", "stores", "mlflow", "disk"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
FIRST_S: Final = 15.0
"""Quiet time before the first fault, in which the load settles."""
QUIET_SHARE: Final = 0.15
"""Share of the whole at the end without a fault, in which all must become well."""
APART_S: Final = 60.0
"""Seconds between two faults where there is time; a short soak has them closer, each kind once."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault."""

    at_s: float
    """Seconds of load before it."""
    kind: Kind


def plan(seed: int, seconds: float, kinds: Sequence[Kind] = KINDS) -> list[Fault]:
    """Returns the faults of a soak, in order: each kind comes once in each round, in an order of its own.

    Args:
      seed: Draws orders and times.
      seconds: Length of the load.
      kinds: Those that are made.

    Raises:
      ValueError: There is no kind.
    """
    if not kinds:
        raise ValueError(f"a soak makes faults of some kinds, got none; allowed are {', '.join(KINDS)}")
    source = random.Random(seed)  # noqa: S311  # A test, not a secret.
    span_s = seconds * (1 - QUIET_SHARE) - FIRST_S
    count = max(len(kinds), int(span_s / APART_S))
    step_s = max(0.0, span_s) / count
    order = _rounds(source, kinds)
    return [Fault(round(FIRST_S + step_s * (n + source.uniform(0, 0.5)), 1), next(order)) for n in range(count)]


def _rounds(source: random.Random, kinds: Sequence[Kind]) -> Iterator[Kind]:
    while True:
        yield from source.sample(list(kinds), len(kinds))
