"""Checks the age of rows where they are consumed."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from app.types import Version


@dataclass(frozen=True, slots=True)
class Freshness:
    """Which rows still count, and how old they are."""

    weight: Tensor
    """Weights of the rows, 0 where they are too old, [N]."""
    lag_mean: float
    lag_max: float
    """Published versions between the policy that acted and the learner, over the rows that count; NaN for none, and
    where rows have no age."""
    rows: int
    """Rows that count."""
    rows_too_old: int
    rows_other_generation: int

    def metrics(self) -> dict[str, float]:
        """Returns the figures under their metric names; lag is left out where no row counts."""
        lags = {} if math.isnan(self.lag_mean) else {"lag_mean": self.lag_mean, "lag_max": self.lag_max}
        return {name: float(rows) for name, rows in ({"rows": self.rows} | self.dropped()).items()} | lags

    def dropped(self) -> dict[str, int]:
        """Returns the rows that do not count under their metric names."""
        return {"rows_too_old": self.rows_too_old, "rows_other_generation": self.rows_other_generation}


def freshness(batch: Mapping[str, Tensor], current: Version, max_lag: int | None) -> Freshness:
    """Returns the rows that are young enough to learn from.

    Args:
      batch: Columns ``weight``, ``generation`` and ``version``, [N].
      current: Newest published version.
      max_lag: Largest allowed lag, in published versions; None: all rows count, whichever policy acted.
    """
    step = batch["weight"] > 0
    if max_lag is None:
        return Freshness(batch["weight"], math.nan, math.nan, int(step.sum()), 0, 0)
    same = step & (batch["generation"] == current.generation)
    lag = current.number - batch["version"]
    fresh = same & (lag <= max_lag)
    lags = lag[fresh].float()
    rows = int(fresh.sum())
    return Freshness(
        weight=torch.where(fresh, batch["weight"], 0.0),
        lag_mean=float(lags.mean()) if rows else float("nan"),
        lag_max=float(lags.max()) if rows else float("nan"),
        rows=rows,
        rows_too_old=int((same & (lag > max_lag)).sum()),
        rows_other_generation=int((step & (batch["generation"] != current.generation)).sum()),
    )
