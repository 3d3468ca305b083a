"""Strategies: how one network is trained on several devices, and with which numbers."""

from importlib.util import find_spec
from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from app.config.base import Config
from app.config.optimizers import OptimizerConfig

Precision = Literal["fp32", "bf16", "fp16"]
"""Numbers of the forward pass; weights, losses and optimizer state are fp32."""

LOCAL_GPUS_MIN = 2
"""Devices from which on ``local_multi_gpu`` is of use."""


class Ddp(Config):
    """Each worker holds the whole network; gradients are averaged (torch's DistributedDataParallel)."""

    kind: Literal["ddp"] = "ddp"


class Fsdp(Config):
    """Weights, gradients and optimizer state are split over the workers (torch's fully_shard)."""

    kind: Literal["fsdp"] = "fsdp"

    shard_modules: tuple[str, ...] = ()
    """Submodules that are put together on their own when they are called, as patterns such as ``encoder.layers.*``;
    what none names is put together at once. Each must be called by its ``forward``."""


class DeepSpeed(Config):
    """DeepSpeed's ZeRO (Rajbhandari et al., 2020); needs the extra ``deepspeed``."""

    kind: Literal["deepspeed"] = "deepspeed"

    stage: Literal[0, 1, 2, 3] = 2
    """What is split over the workers: nothing, optimizer state (1), gradients too (2), weights too (3; on GPUs)."""

    offload: bool = False
    """Whether optimizer state lies in the machine's memory; stages 1 to 3, on GPUs."""


class LocalMultiGpu(Config):
    """One process trains on all its GPUs; each keeps its part of a batch for all epochs."""

    kind: Literal["local_multi_gpu"] = "local_multi_gpu"


def _kind(value: object) -> object:
    """Returns which strategy a value describes; DDP where it does not say."""
    return value.get("kind", "ddp") if isinstance(value, dict) else getattr(value, "kind", "ddp")


Strategy = Annotated[
    Annotated[Ddp, Tag("ddp")]
    | Annotated[Fsdp, Tag("fsdp")]
    | Annotated[DeepSpeed, Tag("deepspeed")]
    | Annotated[LocalMultiGpu, Tag("local_multi_gpu")],
    Discriminator(_kind),
]


class ElasticWorkers(Config):
    """As many workers as the cluster has room for."""

    min: int = Field(1, ge=1)
    """Training does not start with fewer."""

    max: int = Field(ge=1)
    """Most workers."""

    look_every_s: float = Field(60.0, gt=0)
    """Seconds between two looks whether there is room for more; then all workers start again, from the newest
    checkpoint."""

    @model_validator(mode="after")
    def _is_a_range(self) -> "ElasticWorkers":
        if self.min > self.max:
            raise ValueError(f"min is {self.min}, above max, {self.max}; allowed is at most max")
        return self


def package_problem(strategy: Strategy) -> str | None:
    """Returns which package a strategy lacks on this machine; None where it lacks none. Nothing is imported."""
    if isinstance(strategy, DeepSpeed) and find_spec("deepspeed") is None:
        return (
            "strategy deepspeed needs the package deepspeed, which is not installed: pip install 'sparring[deepspeed]'"
        )
    return None


def strategy_problem(
    strategy: Strategy, optimizer: OptimizerConfig, precision: Precision, workers: int | ElasticWorkers, gpus: float
) -> str | None:
    """Returns why a trainer cannot be run as its config says, wherever it runs; None where it can.

    Args:
      strategy: How it is trained.
      optimizer: How gradients change the weights.
      precision: Numbers of the forward pass.
      workers: Data-parallel workers.
      gpus: GPUs of one worker.
    """
    if isinstance(strategy, LocalMultiGpu):
        return _local_problem(workers, gpus)
    if isinstance(strategy, DeepSpeed):
        return _deepspeed_problem(strategy, optimizer, precision, gpus) or _elastic_problem(workers)
    return None


def _local_problem(workers: int | ElasticWorkers, gpus: float) -> str | None:
    if workers != 1:
        return f"strategy local_multi_gpu is one process, got workers {workers}, allowed: 1 (ddp takes more)"
    if gpus < LOCAL_GPUS_MIN:
        return (
            f"strategy local_multi_gpu splits each batch over the GPUs of its process, got num_gpus {gpus:g}, "
            f"allowed: {LOCAL_GPUS_MIN} or more (ddp trains on one, or on CPUs)"
        )
    return None


def _deepspeed_problem(
    strategy: DeepSpeed, optimizer: OptimizerConfig, precision: Precision, gpus: float
) -> str | None:
    if (strategy.stage == 3 or strategy.offload) and gpus == 0:  # noqa: PLR2004
        what = "stage 3" if strategy.stage == 3 else "offload"  # noqa: PLR2004
        return f"strategy deepspeed with {what} moves tensors to and from a GPU, got num_gpus 0, allowed: 1 or more"
    if strategy.offload and strategy.stage == 0:
        return "strategy deepspeed offloads what it has split, got stage 0 with offload, allowed: stages 1 to 3"
    if strategy.stage == 3 and optimizer.ema_decay is not None:  # noqa: PLR2004
        return "ema_decay averages whole weights, which no worker holds in stage 3 of deepspeed; allowed: stages 0 to 2"
    if precision == "fp16":
        return "strategy deepspeed takes precision fp32 or bf16, got fp16, whose scale of the loss it keeps to itself"
    return None


def _elastic_problem(workers: int | ElasticWorkers) -> str | None:
    if isinstance(workers, ElasticWorkers):
        return (
            f"strategy deepspeed saves a part of the optimizer by worker, so their number must stay, got {workers}, "
            "allowed: a number (ddp and fsdp take a range)"
        )
    return None
