"""What a search came to."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Literal

from app.config.search import Value

Ending = Literal["finished", "stopped", "failed"]
"""Trained to its end, stopped early by the scheduler, or ended by an error."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One trial at its end."""

    name: str
    ending: Ending
    updates: int
    """Updates done."""
    metric: float | None
    """What it was compared by, at its last report; None where it made none."""
    values: Mapping[str, Value]
    """What it tried, by dotted path; of a member of a population the last ones."""
    copies: int
    """Times that it went on from the weights of another trial."""
    checkpoint: str | None
    """Folder of its last checkpoint; None where it has none."""
    error: str | None
    """Why it failed."""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The last line of ``sparring search``, as JSON."""

    trials: int
    finished: int
    stopped_early: int
    failed: int
    copies: int
    """Times that one trial went on from the weights of another."""
    best_trial: str
    best_metric: float
    best_values: Mapping[str, Value]
    best_config: str
    """YAML file that ``sparring launch`` takes."""
    best_checkpoint: str | None
    mlflow_run: str
    """Id of the run that the trials' runs lie below."""
    seconds: float

    def as_dict(self) -> dict[str, object]:
        """Returns the result as plain values."""
        return asdict(self)
