"""Models: what network, where it answers, and when its weights change."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from app.config.base import Config, ImportPath, Process
from app.config.release import Release


class Batching(Config):
    """How many observations one model is asked about at once."""

    max_rows: int = Field(1024, ge=1)
    """Observations in one batch; where more wait, those whose steps must be answered first go first."""

    wait_ms: float = Field(0.0, ge=0)
    """Longest wait for a fuller batch; 0 takes what arrives in one turn of the event loop."""

    pad_to: tuple[Annotated[int, Field(ge=1)], ...] | None = Field(None, min_length=1)
    """Batch sizes, rising: a batch is padded up to the next one and its answer cut, and none is larger than the last;
    null pads nothing."""

    max_waiting_rows: int = Field(20_000, ge=1)
    """Observations that may wait in one replica; while so many do, a further question is answered ``overloaded``."""

    @model_validator(mode="after")
    def _rises(self) -> Self:
        sizes = self.pad_to or ()
        if list(sizes) != sorted(set(sizes)):
            raise ValueError(f"pad_to is {list(sizes)}, allowed are rising sizes such as [1, 8, 32]")
        return self


class WeightsConfig(Config):
    """When a model changes its weights, and how many of them one replica keeps."""

    change: Literal["always", "game_start"] = "always"
    """``always``: each batch is answered by the newest weights, or as ``every_ticks`` says; ``game_start``: a game is
    played to its end by the weights that were the newest at its start."""

    every_ticks: int | None = Field(None, ge=1)
    """A session takes newer weights only at its ticks 0, n, 2n, …; null: at any tick. With ``change: always`` only."""

    cache_versions: int = Field(64, ge=1, le=1024)
    """Versions that one replica keeps beside the newest, those in play included; the least recently used goes first.
    Where all are in play, games that begin join the newest of them, and a game that asks for another one is refused."""

    cache_mb: float = Field(1024.0, gt=0)
    """The same in MiB of weights; one version is always kept, however large."""

    max_download_mb: float = Field(2048.0, gt=0)
    """Largest weights that ``GET /weights`` sends, in MiB."""

    @model_validator(mode="after")
    def _changes_in_one_way(self) -> Self:
        if self.change == "game_start" and self.every_ticks is not None:
            raise ValueError(
                f"change is game_start and every_ticks {self.every_ticks}: a game that keeps its weights does not "
                "change them; allowed is every_ticks: null, or change: always"
            )
        return self


class ModelConfig(Process):
    """A torch module and where it answers."""

    factory: ImportPath
    """Callable that returns the module."""

    kwargs: dict[str, Any] = {}
    """Keyword arguments of the factory."""

    engine: Literal["torch", "onnx"] = "torch"
    """What answers. ``torch``: the module itself; ``onnx``: ONNX Runtime, several times faster on a CPU, also while the
    module trains."""

    placement: Literal["local", "remote"] = "local"
    """``local``: inside each actor replica; ``remote``: batched replicas of its own."""

    replicas: int = Field(1, ge=1)
    """Replicas where the placement is remote."""

    channel: Literal["direct", "handle"] = "direct"
    """How actors ask remote replicas. ``direct``: over kept connections of their own; ``handle``: over Serve's handle,
    which is also what is used while no connection can be had."""

    checkpoint: str | None = None
    """First weights; null starts untrained. A registered version: ``models:/project.model@alias``, or with ``/3`` in
    place of the alias. A clone or a checkpoint of the trial: ``clones/<id>``, ``checkpoints/latest``; of another trial
    of the project: its name and ``/`` in front. Anything else is a folder with a ``model.json``."""

    release: Release | None = None
    """Versions of the checkpoint's model that a deployed service plays; null keeps to the checkpoint."""

    batching: Batching = Batching()

    weights: WeightsConfig = WeightsConfig()

    num_cpus: float = Field(0.5, ge=0)
    """CPU cores that one remote replica reserves; a local model uses its actor's."""

    @model_validator(mode="after")
    def _engine_has_its_device(self) -> Self:
        if self.engine == "onnx" and self.num_gpus:
            raise ValueError(f"engine is onnx, which runs on a CPU, and num_gpus {self.num_gpus:g}; allowed is 0")
        return self

    @model_validator(mode="after")
    def _can_be_released(self) -> Self:
        if self.release is None:
            return self
        if self.checkpoint is None or not self.checkpoint.startswith("models:/"):
            raise ValueError(
                f"release follows a registered model and checkpoint is {self.checkpoint}; allowed is a checkpoint such "
                "as models:/project.model@champion, with which the service begins"
            )
        if self.placement != "local":
            raise ValueError(f"release needs placement local, got {self.placement}")
        if self.weights.every_ticks is not None:
            raise ValueError(
                f"release is given and weights.every_ticks {self.weights.every_ticks}: a game that follows a release "
                "keeps its version to its end; allowed is every_ticks: null"
            )
        return self
