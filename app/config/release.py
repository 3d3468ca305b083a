"""How a served model follows the registry: champion, challenger, shadow, and roll-back."""

from typing import Annotated, Self

from pydantic import Field, StringConstraints, model_validator

from app.config.base import Config

Reference = Annotated[str, StringConstraints(pattern=r"^([A-Za-z][\w-]*|[1-9]\d*)$")]
"""An alias of the registered model, or a version's number."""


class RollBack(Config):
    """When a challenger is taken back by itself; a threshold of null does not ask."""

    max_error_rate: float | None = Field(0.01, ge=0, lt=1)
    """Errors and missed deadlines, as a share of its ticks."""

    min_agreement: float | None = Field(None, gt=0, le=1)
    """Share of a shadow's actions that are those of the version that answers."""

    min_mean_return: float | None = None
    """Least mean return of its games."""

    max_return_loss: float | None = Field(None, ge=0)
    """Most by which its mean return may lie below the champion's of the same time."""

    min_ticks: int = Field(1000, ge=10)
    """Ticks before rates are looked at."""

    min_games: int = Field(50, ge=10)
    """Games before returns are looked at."""

    mistake_chance: float = Field(0.01, gt=0, le=0.2)
    """Largest chance that a challenger is taken back although it keeps to all thresholds."""


class Release(Config):
    """Versions of the registered model that a deployed service plays."""

    follow: Reference = "champion"
    """Alias whose version plays."""

    poll_s: float = Field(30.0, gt=0)
    """Seconds between two looks at the registry."""

    challenger: Reference | None = None
    """Alias or version that plays a share of the sessions; null tries none."""

    share: float = Field(0.0, ge=0, le=1)
    """Part of new sessions that play the challenger."""

    shadow: Reference | None = None
    """Alias or version that answers beside, unheard; null asks none."""

    roll_back: RollBack = RollBack()

    @model_validator(mode="after")
    def _has_a_challenger(self) -> Self:
        if self.share and self.challenger is None:
            raise ValueError(f"share is {self.share} and challenger null; allowed is a share with a challenger")
        return self
