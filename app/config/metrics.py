"""What is measured at every tick, and how much of it is kept."""

from pydantic import Field

from app.config.base import Config, Name


class MetricsConfig(Config):
    """The metrics of a trial."""

    latencies: bool | tuple[Name, ...] = True
    """Whether each tick's time in queue, agent and model is measured, and each batch of a model; a list names the
    agents and models of which it is."""

    series_max: int = Field(10_000, ge=100, le=100_000)
    """Most series of each process, and of the trial; values of further ones are counted and told of once."""

    def timed(self, name: str) -> bool:
        """Returns whether the times of an agent or a model are measured."""
        return self.latencies if isinstance(self.latencies, bool) else name in self.latencies
