"""Checks: what data and weights must be like, and what happens where they are not."""

from typing import Annotated, Final, Literal, Self

from pydantic import Field, field_validator, model_validator

from app.config.base import Config, Name

CheckAction = Literal["count", "warn", "drop", "stop"]
"""``count``: the rows are counted; ``warn``: an alarm says so as well; ``drop``: the rows are not learned from either;
``stop``: training ends with that alarm as its error."""

WholeAction = Literal["count", "warn", "stop"]
"""A ``CheckAction`` where there is no row to drop."""

ROW_FIELDS: Final = ("observation", "state", "action", "reward", "log_prob", "value")
"""Parts of a row that can be checked; a leaf or a named reward follows behind a slash."""
LEARNER_FIELDS: Final = ("metrics", "weights")
"""What can be checked of the learner: ``metrics/<name>`` of an update, ``weights/<parameter>`` of what is published."""
PSI_THRESHOLD: Final = 0.25
"""Population stability index from which a distribution is held to be another one (Siddiqi 2006)."""
KS_THRESHOLD: Final = 0.1
"""Largest distance of two cumulative distributions below which nobody would look."""


class FiniteChecks(Config):
    """What happens with NaN and infinity; these checks are on unless they are set to null."""

    rows: CheckAction | None = "drop"
    """In rows that are to be learned from: every part of floating point numbers."""

    losses: WholeAction | None = "warn"
    """In the metrics of an update with ``loss`` in their name; a step whose gradient is not finite ends training
    anyhow."""

    weights: WholeAction | None = "stop"
    """In weights that are about to be published."""


class FieldCheck(Config):
    """What all checks of a field have in common."""

    field: str
    """``observation``, ``state``, ``action``, ``reward``, ``log_prob`` or ``value`` of rows, ``metrics/<name>`` of
    updates, or ``weights`` that are published; behind a slash stands a leaf, and without one all leaves are meant."""

    model: Name | None = None
    """Model whose games and training are looked at; null looks at those of all models, which must have the field."""

    action: CheckAction = "warn"
    """What happens where it fails. ``count``: the rows are counted; ``warn``: an alarm says so as well; ``drop``: the
    rows are not learned from either; ``stop``: training ends with that alarm as its error."""

    record: bool = False
    """Ask the recorder to keep the game in which it was found."""

    @field_validator("field")
    @classmethod
    def _is_known(cls, field: str) -> str:
        first, slash, rest = field.partition("/")
        allowed = (*ROW_FIELDS, *LEARNER_FIELDS)
        if first not in allowed or (slash and not rest):
            raise ValueError(f"is {field!r}; allowed are {', '.join(allowed)}, and below them leaves behind a slash")
        if first == "metrics" and not rest:
            raise ValueError("is 'metrics'; allowed is metrics/<name> with the name of one metric of an update")
        return field

    @model_validator(mode="after")
    def _drops_rows_alone(self) -> Self:
        if self.action == "drop" and (self.of_learner or not self.finds_rows):
            what = "the learner" if self.of_learner else "a window of rows"
            raise ValueError(f"action is drop for {what}, which has no row to drop; allowed are count, warn, stop")
        if self.record and self.of_learner:
            raise ValueError(f"record is true with field {self.field}, which is of no game; allowed is false")
        return self

    @property
    def of_learner(self) -> bool:
        """Returns whether the field is one of the learner's, not of rows."""
        return self.field.partition("/")[0] in LEARNER_FIELDS

    @property
    def finds_rows(self) -> bool:
        """Returns whether it tells which rows are wrong."""
        return True


class RangeCheck(FieldCheck):
    """Values outside of bounds."""

    kind: Literal["range"] = "range"

    min: float | None = None
    """Smallest allowed value; null allows any."""

    max: float | None = None
    """Largest allowed value; null allows any."""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.min is None and self.max is None:
            raise ValueError("min and max are null; allowed is at least one bound")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f"min is {self.min:g} and max {self.max:g}; allowed is min <= max")
        return self


class StuckCheck(FieldCheck):
    """Values that do not change any more: the same in consecutive rows of a trajectory, updates, or publishes."""

    kind: Literal["stuck"] = "stuck"

    rows: int = Field(32, ge=2)
    """Consecutive rows, updates or publishes with the same value; of rows, fewer than ``unroll_ticks``."""

    each_element: bool = False
    """Whether one number of the field is enough; false: all of its numbers stay."""


class WindowCheck(FieldCheck):
    """A check of many rows together; for weights each publish is a window, for metrics a row is an update."""

    window_rows: int = Field(4096, ge=2)
    """Rows that are looked at together."""

    @property
    def finds_rows(self) -> bool:
        """Returns False: it is the window that is wrong."""
        return False


class SaturatedCheck(WindowCheck):
    """Values that stand at a bound most of the time."""

    kind: Literal["saturated"] = "saturated"

    min: float | None = None
    """Lower bound; null looks at the upper one alone."""

    max: float | None = None
    """Upper bound; null looks at the lower one alone."""

    tolerance: float = Field(1e-3, ge=0)
    """Distance from the bound at which a value still counts as standing there."""

    share: float = Field(0.9, gt=0, lt=1)
    """Share of a window's values at either bound above which it is saturated."""

    @model_validator(mode="after")
    def _has_a_bound(self) -> Self:
        if self.min is None and self.max is None:
            raise ValueError("min and max are null; allowed is at least one bound")
        return self


class DriftCheck(WindowCheck):
    """A distribution that is no longer that of its reference."""

    kind: Literal["drift"] = "drift"

    reference: Name | None = None
    """Source whose rows are the reference; null: the first ``reference_rows`` rows of each process."""

    reference_rows: int = Field(4096, ge=2)
    """Rows of the reference."""

    statistic: Literal["psi", "ks"] = "psi"
    """``psi``: population stability index; ``ks``: Kolmogorov-Smirnov distance, both over the bins."""

    threshold: float | None = Field(None, gt=0)
    """Value above which it has drifted; null: 0.25 for psi, 0.1 for ks."""

    bins: int = Field(20, ge=2, le=1000)
    """Bins, which hold equal shares of the reference."""

    @property
    def limit(self) -> float:
        """Returns the threshold in force."""
        if self.threshold is not None:
            return self.threshold
        return PSI_THRESHOLD if self.statistic == "psi" else KS_THRESHOLD

    @model_validator(mode="after")
    def _reference_holds_rows(self) -> Self:
        if self.reference is not None and self.of_learner:
            raise ValueError(
                f"reference is source {self.reference!r} with field {self.field}, which no source holds; allowed: null"
            )
        return self


Check = Annotated[RangeCheck | DriftCheck | StuckCheck | SaturatedCheck, Field(discriminator="kind")]


class ChecksConfig(Config):
    """What is checked, and what happens where something is wrong."""

    finite: FiniteChecks = FiniteChecks()

    fields: dict[Name, Check] = {}
    """Further checks, by names that alarms call them by."""

    weights_age_s: float | None = Field(None, gt=0)
    """Age of a trained model's newest weights from which each replica raises an alarm; null raises none."""
