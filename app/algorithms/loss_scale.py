"""The scale of the loss that keeps fp16 gradients above zero (Micikevicius et al., 2018), arXiv:1710.03740."""

from dataclasses import dataclass
from typing import Final

FIRST: Final = 2.0**16
"""Scale of the first step; the numbers are those of torch's GradScaler."""
GROWTH: Final = 2.0
"""Factor after so many good steps."""
GOOD_STEPS: Final = 2000
"""Steps without an overflow after which the scale grows."""
BACKOFF: Final = 0.5
"""Factor after an overflow."""
SMALLEST: Final = 1.0
"""A gradient that overflows at this scale is not finite for another reason."""


@dataclass(frozen=True, slots=True)
class LossScale:
    """What losses are multiplied by, and gradients divided."""

    scale: float = FIRST
    good_steps: int = 0
    """Steps without an overflow since the scale has changed."""

    def after(self, *, finite: bool) -> "LossScale":
        """Returns the scale of the next step.

        Args:
          finite: Whether this step's gradients were.
        """
        if not finite:
            return LossScale(max(SMALLEST, self.scale * BACKOFF))
        if self.good_steps + 1 == GOOD_STEPS:
            return LossScale(self.scale * GROWTH)
        return LossScale(self.scale, self.good_steps + 1)

    def can_shrink(self) -> bool:
        """Returns whether an overflow may be the scale's fault."""
        return self.scale > SMALLEST
