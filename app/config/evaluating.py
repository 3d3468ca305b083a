"""Evaluations while a trainer learns."""

from pydantic import Field

from app.config.base import Config
from app.config.launching import SimulatorConfig


class PlayedGames(Config):
    """Games that are played to see how good the newest weights are: greedy, at one version, and never learned from."""

    simulator: SimulatorConfig
    """Game cores that play them, on the machine of ``python -m train``."""

    count: int = Field(20, ge=1)
    """Games of one evaluation, which all count, however long they take."""

    seed: int = Field(2_000_000, ge=0)
    """First seed; each evaluation plays the same ones."""

    timeout_s: float = Field(600.0, gt=0)
    """Seconds after which an evaluation is given up, and logged as such."""


class EvaluationConfig(Config):
    """What is measured every so many updates, beside what training itself shows."""

    every_updates: int = Field(100, ge=1)
    """Updates between two evaluations."""

    held_out_batches: int = Field(10, ge=1)
    """Batches at most, of ``batch_rows`` rows that its source has set aside, that the losses of an input are measured
    on."""

    games: PlayedGames | None = None
    """Games to play; null plays none."""
