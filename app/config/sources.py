"""Sources: what was played before, elsewhere or by others, to learn from."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from app.config.base import Component, Config, ImportPath, Name


class Shuffle(Config):
    """How trajectories are shuffled: the order of shards in each epoch, and within a window of each shard."""

    window: int = Field(32, ge=1)
    """Trajectories held at a time, of which the next one is drawn; 1 shuffles the shards alone."""

    seed: int | None = Field(None, ge=0)
    """Null: ``run.seed``."""


class SourceConfig(Component):
    """What all sources share. A shard is a file, or an iterable of a factory."""

    enable: Literal["train", "deploy", "both"] = "train"
    """Mode in which this component exists."""

    epochs: int | None = Field(None, ge=1)
    """Passes over the shards, after which training ends; null is no end."""

    shuffle: Shuffle | None = None
    """Null reads the shards in the order of their names, and each from its first trajectory to its last."""

    held_out_share: float = Field(0.0, ge=0, lt=1)
    """Share of the trajectories that are set aside to evaluate on, the same ones at every start."""

    held_out_source: Name | None = None
    """Another source to evaluate on; null: those set aside by ``held_out_share``."""

    fields: dict[str, str] = {}
    """Names of the stored data by the name of our column, where they differ: ``{observation: obs}``."""

    preprocess: ImportPath | None = None
    """Function that turns the columns of a batch as stored into those of the model, row by row; null: they are."""

    credits_batches: int = Field(2, ge=1)
    """Batches that may be under way to one worker."""

    @model_validator(mode="after")
    def _one_kind_of_held_out(self) -> Self:
        if self.held_out_share and self.held_out_source is not None:
            raise ValueError(
                f"held_out_share is {self.held_out_share:g} and held_out_source {self.held_out_source!r}; "
                "allowed is one of them"
            )
        return self


class FactorySource(SourceConfig):
    """User code that gives trajectories."""

    kind: Literal["factory"] = "factory"

    factory: ImportPath
    """Returns an iterable of trajectories, or a list of such: a shard each. A shard is iterated anew for each epoch."""

    kwargs: dict[str, Any] = {}
    """Keyword arguments of the factory."""


class FileSource(SourceConfig):
    """Files, a shard each."""

    path: Annotated[str, Field(min_length=1)] | tuple[str, ...]
    """Files, folders or patterns such as ``demos/*.parquet``; relative to the folder that training is started from."""


class ParquetSource(FileSource):
    """Parquet tables, a row a step."""

    kind: Literal["parquet"] = "parquet"


class JsonlSource(FileSource):
    """JSON lines, a line a trajectory or a step."""

    kind: Literal["jsonl"] = "jsonl"


class NpzSource(FileSource):
    """numpy archives, a row a step."""

    kind: Literal["npz"] = "npz"


class RllibSource(FileSource):
    """What RLlib writes: JSON lines of SampleBatches, Parquet tables of steps, or Parquet tables of episodes."""

    kind: Literal["rllib"] = "rllib"


class MinariSource(FileSource):
    """What Minari writes: HDF5 files of episodes."""

    kind: Literal["minari"] = "minari"


class RecordingsSource(FileSource):
    """What ``agents.<name>.record`` writes."""

    kind: Literal["recordings"] = "recordings"


Source = Annotated[
    FactorySource | ParquetSource | JsonlSource | NpzSource | RllibSource | MinariSource | RecordingsSource,
    Field(discriminator="kind"),
]
