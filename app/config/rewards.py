"""What becomes of rewards before they are learned from."""

from pydantic import Field

from app.config.base import Config, Factory


class RewardsConfig(Config):
    """Changes of rewards, in this order; what games report of their returns stays as it is."""

    shaping: Factory | None = None
    """Hook of your own: called with ``kwargs``, the factory returns an ``app.algorithms.shaping.Shaping``; such as
    ``app.algorithms.shaping:Potential``. null: rewards are those of the game."""

    normalise: bool = False
    """Whether they are divided by a running deviation, that of the discounted sums of each episode so far; it is saved
    with checkpoints."""

    gamma: float | None = Field(None, gt=0, le=1)
    """Discount per tick of these sums; null: the algorithm's."""

    largest: float | None = Field(None, gt=0)
    """Bound of what is learned from, on both sides; null bounds nothing."""
