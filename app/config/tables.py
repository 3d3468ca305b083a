"""Replay tables: what is kept, for how long, and what batches are made of."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from app.config.base import Config


class TransitionItem(Config):
    """Single steps with the state that was reached up to ``steps`` later."""

    kind: Literal["transition"] = "transition"

    steps: int = Field(1, ge=1)
    """Rewards that are added up: n of n-step returns."""

    gamma: float = Field(0.99, ge=0, le=1)
    """Discount per tick; it should be the algorithm's."""


class SequenceItem(Config):
    """Whole sequences of rows, for models with a state."""

    kind: Literal["sequence"] = "sequence"

    rows: int = Field(ge=2)
    """Rows of a sequence, its bootstrap row included."""

    overlap_rows: int = Field(1, ge=1)
    """Rows that a sequence shares with the one before it."""

    burn_in_rows: int = Field(0, ge=0)
    """First rows of a sequence, which only bring the state up to date."""

    burn_in_at_start: bool = True
    """Whether the first sequence of an episode has a burn-in too."""

    @model_validator(mode="after")
    def _steps_are_learned_from(self) -> "SequenceItem":
        if not self.burn_in_rows < self.overlap_rows < self.rows:
            raise ValueError(
                f"burn_in_rows, overlap_rows and rows are {self.burn_in_rows}, {self.overlap_rows} and {self.rows}; "
                "allowed is burn_in_rows < overlap_rows < rows, or some steps would never be learned from"
            )
        return self


class OldestFirstSampling(Config):
    """The items that came first."""

    kind: Literal["fifo"] = "fifo"


class NewestFirstSampling(Config):
    """The items that came last."""

    kind: Literal["newest"] = "newest"


class UniformSampling(Config):
    """Any item with the same chance."""

    kind: Literal["uniform"] = "uniform"


class PrioritizedSampling(Config):
    """Items with probability (priority + epsilon)^exponent / sum (Schaul et al., 2016)."""

    kind: Literal["prioritized"] = "prioritized"

    exponent: float = Field(0.6, ge=0, le=1)
    """0 samples uniformly, 1 in proportion to the priorities."""

    beta: float = Field(0.4, ge=0, le=1)
    """How much of the bias the weights undo: 0 nothing, 1 all of it."""

    epsilon: float = Field(1e-6, gt=0)
    """Added to each priority, so that an item of priority 0 is still sampled."""


class MinSizeLimit(Config):
    """Samples wait for a number of items; inserts never wait."""

    kind: Literal["min_size"] = "min_size"

    min_size_items: int = Field(1, ge=1)
    """Items from which on batches are sampled."""


class SamplesPerInsertLimit(Config):
    """Each item is sampled a given number of times on average: games and trainer keep in step."""

    kind: Literal["samples_per_insert"] = "samples_per_insert"

    samples_per_insert: float = Field(gt=0)
    """How often an item is sampled on average."""

    min_size_items: int = Field(1, ge=1)
    """Items from which on batches are sampled."""

    error_buffer_items: float = Field(gt=0)
    """Samples that either side may be ahead or behind before it waits."""


class QueueLimit(Config):
    """Each item is sampled exactly once, and nothing is overwritten; needs ``max_reuse: 1``."""

    kind: Literal["queue"] = "queue"


Item = Annotated[TransitionItem | SequenceItem, Field(discriminator="kind")]
Sampling = Annotated[
    OldestFirstSampling | NewestFirstSampling | UniformSampling | PrioritizedSampling, Field(discriminator="kind")
]
Limit = Annotated[MinSizeLimit | SamplesPerInsertLimit | QueueLimit, Field(discriminator="kind")]


class TableSaving(Config):
    """When a table is written beside the checkpoints of its trainer."""

    every_checkpoints: int = Field(1, ge=1)
    """Each n-th checkpoint that is written has the table beside it, and the last one of a run."""

    max_mb: float = Field(2048.0, gt=0)
    """Largest size of the full table in MiB, over all shards; a larger one is refused at the start. A shard takes its
    share of it once more in memory while it writes."""


class TableConfig(Config):
    """A replay table; its numbers are of all shards together, and a batch of it has ``batch_rows`` items."""

    capacity_items: int = Field(ge=1)
    """Items held at most."""

    item: Item = TransitionItem()
    """What is kept: transitions, or sequences."""

    sampler: Sampling = UniformSampling()
    """Which items a batch is made of."""

    remover: Literal["oldest", "uniform", "lowest_priority"] = "oldest"
    """Which items make room when the table is full."""

    limiter: Limit = MinSizeLimit()
    """How many items may be inserted and sampled now."""

    max_reuse: int | None = Field(None, ge=1)
    """An item leaves after so many samples; null keeps it."""

    max_age_items: int | None = Field(None, ge=1)
    """An item leaves once so many have come after it; null keeps it."""

    max_age_versions: int | None = Field(None, ge=0)
    """An item leaves once its policy is so many published versions old, or of a start that the present weights do not
    come from; null keeps it."""

    save: TableSaving | None = None
    """Whether the table is written beside the checkpoints, and comes back where training goes on from one; null begins
    with an empty one."""
