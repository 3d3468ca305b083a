"""Hyperparameters that a population finds by itself (Jaderberg et al., 2017), https://arxiv.org/abs/1711.09846."""

from collections.abc import Mapping
from dataclasses import dataclass

from app.league.players import Hyperparameters
from app.seeding import Draws


@dataclass(frozen=True, slots=True)
class Span:
    """Where a hyperparameter begins, and between which bounds it may move."""

    initial: float
    low: float | None = None
    """Smallest value; None: it is never changed."""
    high: float | None = None
    """Largest value; None: it is never changed."""

    def __post_init__(self) -> None:
        if (self.low is None) != (self.high is None):
            raise ValueError(f"a hyperparameter needs both bounds or none, got low {self.low} and high {self.high}")
        if self.low is not None and self.high is not None and not self.low <= self.initial <= self.high:
            raise ValueError(
                f"a hyperparameter needs low <= initial <= high, got {self.low}, {self.initial} and {self.high}"
            )


Spans = Mapping[str, Span]


@dataclass(frozen=True, slots=True)
class Mutation:
    """How values are changed."""

    probability: float = 1.0
    """Chance that a value is changed at all."""
    factors: tuple[float, ...] = (0.8, 1.2)
    """One of them multiplies it."""

    def __post_init__(self) -> None:
        if not 0 <= self.probability <= 1 or not self.factors or min(self.factors) <= 0:
            raise ValueError(
                "a mutation needs a probability in [0, 1] and positive factors, "
                f"got {self.probability} and {self.factors}"
            )


def initial(spans: Spans) -> dict[str, float]:
    """Returns the values that a first period has."""
    return {name: span.initial for name, span in spans.items()}


def mutated(values: Hyperparameters, spans: Spans, mutation: Mutation, draws: Draws) -> dict[str, float]:
    """Returns changed values inside their bounds; one without bounds stays as it is."""
    changed = dict(values)
    for name, span in spans.items():
        value = changed.get(name, span.initial)
        if span.low is not None and span.high is not None and draws.random() < mutation.probability:
            value = min(max(value * draws.choice(mutation.factors), span.low), span.high)
        changed[name] = value
    return changed
