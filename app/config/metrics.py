"""What is measured at every tick, and how much of it is kept."""

from pydantic import Field

from app.config.base import Config


class MetricsConfig(Config):
    """The metrics of a trial."""

    latencies: bool = True
    """Whether each tick's time in queue, agent and model is measured, and each batch of a model."""

    series_max: int = Field(10_000, ge=100, le=100_000)
    """Most series of each process, and of the trial; values of further ones are counted and told of once."""
