"""What ``sparring search`` tries: a space of configs, how many trials, and when one is stopped early."""

from math import prod
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, model_validator

from app.config.base import Config, ImportPath

Value: TypeAlias = bool | int | float | str
"""What a parameter may be."""


class Range(Config):
    """Real numbers between two bounds."""

    low: float
    """Smallest value."""

    high: float
    """Largest value; no trial leaves the range, not even a perturbed one."""

    @model_validator(mode="after")
    def _ordered(self) -> "Range":
        if not self.low < self.high:
            raise ValueError(f"low is {self.low:g}; allowed is less than high, {self.high:g}")
        return self


class Uniform(Range):
    """Each number is as likely as any other."""

    kind: Literal["uniform"] = "uniform"


class LogUniform(Range):
    """Each order of magnitude is as likely as any other."""

    kind: Literal["loguniform"] = "loguniform"

    low: float = Field(gt=0)
    """Smallest value."""


class Choice(Config):
    """One of several values, each as likely as any other."""

    kind: Literal["choice"] = "choice"

    values: tuple[Value, ...] = Field(min_length=1)
    """In order of size, if they have one: a population steps to a neighbour."""


class Grid(Config):
    """Every value is tried, together with every value of the other grids."""

    kind: Literal["grid"] = "grid"

    values: tuple[Value, ...] = Field(min_length=1)
    """All of which are tried."""


Parameter = Annotated[Uniform | LogUniform | Choice | Grid, Field(discriminator="kind")]


class Asha(Config):
    """Asynchronous successive halving (Li et al., 2018): stops whoever is behind at each rung; waits for nobody."""

    kind: Literal["asha"] = "asha"

    grace_updates: int = Field(10, ge=1)
    """Updates that every trial may do: the first rung."""

    reduction_factor: float = Field(4.0, gt=1)
    """One of so many goes on at each rung; rungs are so many times as far apart."""

    brackets: int = Field(1, ge=1)
    """Sets of rungs; each further one begins a rung later."""


class HyperBand(Config):
    """HyperBand (Li et al., 2016): trials wait for each other at a rung, and the best go on."""

    kind: Literal["hyperband"] = "hyperband"

    reduction_factor: float = Field(3.0, gt=1)
    """One of so many goes on at each rung."""


class Median(Config):
    """The median stopping rule (Golovin et al., 2017): stops whoever is worse than half of the means so far."""

    kind: Literal["median"] = "median"

    grace_updates: int = Field(10, ge=1)
    """Updates that every trial may do."""

    min_trials: int = Field(3, ge=1)
    """Trials that must have come as far before one is stopped."""


class Pbt(Config):
    """Population based training (Jaderberg et al., 2017): the worst take weights and changed values of the best."""

    kind: Literal["pbt"] = "pbt"

    every_updates: int = Field(20, ge=1)
    """Updates between two comparisons."""

    quantile: float = Field(0.25, gt=0, le=0.5)
    """Share of the population that is replaced, and share that it takes from."""

    resample_probability: float = Field(0.25, ge=0, le=1)
    """Chance that a value is drawn anew instead of changed."""

    factors: tuple[float, float] = (1.2, 0.8)
    """By which numbers are changed, one or the other."""


Scheduler = Annotated[Asha | HyperBand | Median | Pbt, Field(discriminator="kind")]


class SearchConfig(Config):
    """A search over configs: each trial trains one."""

    space: dict[str, Parameter] = Field(min_length=1)
    """What differs between trials, by dotted path, such as ``trainers.main.optimizer.learning_rate``."""

    objective: ImportPath = "train.search.in_process:objective"
    """What trains a trial; ``train.search.ring:objective`` plays over HTTP in a service of its own."""

    trials: int = Field(8, ge=1)
    """Number of trials, or size of the population; a multiple of the combinations of the grids."""

    concurrent: int = Field(1, ge=1)
    """Trials that train at the same time."""

    updates: int = Field(100, ge=1)
    """Updates of a trial that nothing stops."""

    report_every_updates: int = Field(5, ge=1)
    """Updates between two reports; trials are compared and saved at reports."""

    metric: str = "mean_return"
    """What trials are compared by; one of those that the objective reports."""

    mode: Literal["max", "min"] = "max"
    """Whether much or little of it is good."""

    scheduler: Scheduler | None = None
    """What stops trials early; null trains all to their end."""

    seed: int = Field(0, ge=0)
    """Draws the values."""

    limit_s: float = Field(3600.0, gt=0)
    """Seconds after which no trial goes on."""

    @property
    def combinations(self) -> int:
        """Returns the number of combinations of the grids."""
        return prod(len(parameter.values) for parameter in self.space.values() if isinstance(parameter, Grid))

    @model_validator(mode="after")
    def _fits(self) -> "SearchConfig":
        if self.trials % self.combinations:
            raise ValueError(
                f"trials is {self.trials}; allowed is a multiple of the {self.combinations} combinations of the grids"
            )
        if isinstance(self.scheduler, Pbt) and all(isinstance(parameter, Grid) for parameter in self.space.values()):
            raise ValueError(
                "scheduler.kind is pbt, and there are grids alone; allowed: a parameter that can be changed"
            )
        if isinstance(self.scheduler, Asha | Median) and self.scheduler.grace_updates > self.updates:
            raise ValueError(
                f"scheduler.grace_updates is {self.scheduler.grace_updates}; allowed is at most updates, {self.updates}"
            )
        return self
