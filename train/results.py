"""What the parts of an experiment come to, as values that print well."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from app.config.slots import Slot, Total, total
from app.types import Version
from train.launch.cores import Evaluated


@dataclass(frozen=True, slots=True)
class Result:
    """A value whose text has a line for each field."""

    def __str__(self) -> str:
        """Returns the fields below each other; real numbers to four digits."""
        found = [(field.name.replace("_", " "), getattr(self, field.name)) for field in fields(self)]
        width = max((len(name) for name, _ in found), default=0)
        return "\n".join(f"{name:<{width}}  {_shown(value)}" for name, value in found)


@dataclass(frozen=True, slots=True)
class CheckResult(Result):
    """What a config reserves in the cluster."""

    components: Sequence[Slot]

    @property
    def total(self) -> Total:
        """Returns the sum over all processes."""
        return total(self.components)

    def __str__(self) -> str:
        """Returns a line for each component, and the sum."""
        whole = self.total
        rows = [
            f"{s.component:<30} {s.processes:>3} × {s.num_cpus:g} cores, {s.num_gpus:g} GPUs" for s in self.components
        ]
        return "\n".join([*rows, f"{'sum':<30} {whole.num_cpus:g} cores, {whole.num_gpus:g} GPUs"])


@dataclass(frozen=True, slots=True)
class EvaluationResult(Result):
    """What evaluation games returned: greedy, each with a seed of its own, over the game port."""

    episodes: int
    mean_return: float
    min_return: float
    weights: str
    """Which weights played."""


@dataclass(frozen=True, slots=True)
class TrainResult(Result):
    """How training went."""

    solved: bool
    """Whether an evaluation reached ``launch.goal``."""
    updates: int
    ticks: int
    """Training ticks that the service has answered."""
    episodes: int
    """Training games that were finished."""
    mean_return: float | None
    """Mean over the newest training games; None until ``launch.goal.training_games`` are finished."""
    evaluation: EvaluationResult | None
    """The one that reached the goal."""
    weights: str
    """Newest published version of each model that is trained."""
    checkpoints: tuple[str, ...]
    """Newest checkpoint of each trainer, as ``restore`` takes it."""
    seconds: float


@dataclass(frozen=True, slots=True)
class SavedModel(Result):
    """Weights that were set apart."""

    name: str
    """As ``restore`` and ``models.<name>.checkpoint`` take it."""
    folder: Path
    registered: str | None
    """Version in the registry; None where it was not registered."""


@dataclass(frozen=True, slots=True)
class Served(Result):
    """A service that plays."""

    url: str
    """Game port of the first actor."""
    ports: dict[str, int]
    """Game port of each actor."""
    weights: str
    """Which weights play."""


def evaluation_of(evaluated: Evaluated, weights: str) -> EvaluationResult:
    """Returns the result of evaluation games that these weights have played."""
    return EvaluationResult(evaluated.episodes, evaluated.mean_return, evaluated.min_return, weights)


def shown(pinned: Mapping[str, Version]) -> str:
    """Returns versions as a result tells them; with the model's name where there are several; "" for none."""
    if len(pinned) == 1:
        return f"version {next(iter(pinned.values()))}"
    return ", ".join(f"{model} {version}" for model, version in pinned.items())


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, Result):
        return ", ".join(f"{field.name} {_shown(getattr(value, field.name))}" for field in fields(value))
    if isinstance(value, tuple):
        return ", ".join(_shown(item) for item in value)
    return "-" if value is None else str(value)
