"""What TensorBoard shows beside scalars."""

from typing import Literal

from pydantic import Field

from app.config.base import Config

Chart = Literal["weights", "gradients", "actions", "images", "video", "graph"]


class ChartsConfig(Config):
    """Charts of each trainer, written by its first worker to a TensorBoard run of its own, ``<start>-<trainer>``."""

    kinds: tuple[Chart, ...] = ()
    """Which: histograms of ``weights``, of ``gradients`` and of ``actions`` that were played; ``images``: observations
    that are images; ``video``: those of consecutive rows; ``graph``: the network, once at the start."""

    every_updates: int = Field(100, ge=1)
    """Updates between two, but for the graph."""

    video_rows: int = Field(64, ge=2, le=1000)
    """Longest video, in rows of a batch."""
