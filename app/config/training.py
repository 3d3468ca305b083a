"""Trainers: what ``python -m train`` starts."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from app.config.algorithms import Algorithm, CustomAlgorithm, Gail, Ppo, asks_parts
from app.config.base import Config, Name, Process
from app.config.checkpoints import CheckpointsConfig
from app.config.evaluating import EvaluationConfig
from app.config.from_trajectories import Online
from app.config.optimizers import Adam, Optimizer
from app.config.rewards import RewardsConfig
from app.config.strategies import (
    Ddp,
    DeepSpeed,
    ElasticWorkers,
    Fsdp,
    LocalMultiGpu,
    Precision,
    Strategy,
    strategy_problem,
)
from app.config.trust_region import Trpo


class Mixing(Config):
    """How several inputs share the updates of one trainer."""

    steps: Literal["in_turn", "together"] = "in_turn"
    """``in_turn``: an update learns from one batch of one input, in shares by their weights. ``together``: from one
    batch of each, and their losses, each times its weight, are added up for each optimizer step."""

    starving: Literal["wait", "skip"] = "wait"
    """What becomes of an input that has no rows: the others ``wait`` for it, so that the shares hold whatever happens;
    or its turn, or its part of the update, is lost to it (``skip``) and counted."""


class TrainInput(Config):
    """One stream of training batches."""

    buffer: Name | None = None
    """Buffer that the rows come from; null where they come from a source."""

    source: Name | None = None
    """Source that the rows come from; null where they come from a buffer."""

    algorithm: Algorithm = Ppo()
    """How they are learned from."""

    rewards: RewardsConfig | None = None
    """What becomes of rewards before that, of trajectories alone; null: they are learned from as they are."""

    batch_rows: int = Field(1024, ge=2)
    """Rows of one batch of one worker, bootstrap rows included."""

    weight: float = Field(1.0, gt=0)
    """Share of the updates beside the other inputs, whose ratios are at most 1,000; where inputs learn together, what
    the loss is multiplied by."""

    @model_validator(mode="after")
    def _comes_from_one_place(self) -> "TrainInput":
        if (self.buffer is None) == (self.source is None):
            got = "neither" if self.buffer is None else f"buffer {self.buffer!r} and source {self.source!r}"
            raise ValueError(f"got {got}; allowed is one of buffer and source")
        return self

    @model_validator(mode="after")
    def _trusts_its_own_games(self) -> "TrainInput":
        if isinstance(self.algorithm, Trpo) and self.source is not None:
            raise ValueError(f"trpo learns from its own newest games, got source {self.source!r}; allowed is a buffer")
        return self

    @model_validator(mode="after")
    def _gail_plays(self) -> "TrainInput":
        if isinstance(self.algorithm, Gail) and self.source is not None:
            raise ValueError(
                f"gail learns from games of its own, got source {self.source!r}, allowed: buffer; the expert's games "
                "are the source that algorithm.expert names"
            )
        return self

    @model_validator(mode="after")
    def _rewards_have_a_discount(self) -> "TrainInput":
        if self.rewards is not None and self.rewards.normalise and self.reward_gamma is None:
            raise ValueError(f"rewards.gamma is null; allowed with {self.algorithm.kind} is a number up to 1")
        return self

    @property
    def reward_gamma(self) -> float | None:
        """Discount of the sums that rewards are normalised by; None where nothing names one."""
        own = None if self.rewards is None else self.rewards.gamma
        algorithm = None if isinstance(self.algorithm, CustomAlgorithm) else self.algorithm.gamma
        return algorithm if own is None else own

    @model_validator(mode="after")
    def _minibatches_fit(self) -> "TrainInput":
        if self.algorithm.minibatch_rows > self.batch_rows:
            raise ValueError(
                f"algorithm.minibatch_rows is {self.algorithm.minibatch_rows}; "
                f"allowed is at most batch_rows, {self.batch_rows}"
            )
        return self


class TrainerConfig(Process):
    """Optimises one model."""

    enable: Literal["train", "deploy", "both"] = "train"
    """Mode in which this component exists."""

    model: Name
    """Model that is trained."""

    inputs: tuple[TrainInput, ...] = Field(min_length=1)
    """Streams that it learns from."""

    mixing: Mixing = Mixing()

    optimizer: Optimizer = Adam()
    """How gradients change the network."""

    strategy: Strategy = Ddp()
    """How the network is trained on several devices."""

    precision: Precision = "fp32"
    """Numbers of the forward pass; weights and optimizer state are fp32."""

    workers: Annotated[int, Field(ge=1)] | ElasticWorkers = 1
    """Data-parallel workers; a range trains with as many as the cluster has room for."""

    publish_every_updates: int = Field(1, ge=1)
    """Updates between published weights."""

    checkpoints: CheckpointsConfig = CheckpointsConfig()

    evaluation: EvaluationConfig | None = None
    """What is measured while it learns; null measures nothing more than training shows."""

    max_updates: int | None = Field(None, ge=1)
    """Updates after which training ends; null trains until it is told to stop."""

    max_restarts: int = Field(3, ge=0)
    """Failed workers after which training gives up."""

    num_cpus: float = Field(0.5, ge=0)
    """CPU cores that one worker reserves."""

    @property
    def most_workers(self) -> int:
        """The largest number of workers."""
        return self.workers.max if isinstance(self.workers, ElasticWorkers) else self.workers

    @model_validator(mode="after")
    def _elastic_inputs_have_no_parts(self) -> "TrainerConfig":
        sources = [str(wanted.source) for wanted in self.inputs if wanted.source is not None]
        if sources and isinstance(self.workers, ElasticWorkers):
            raise ValueError(
                f"each worker reads a part of the sources {', '.join(sources)}, so their number must stay, got a range "
                "of workers, allowed: a number"
            )
        return self

    @model_validator(mode="after")
    def _network_is_whole(self) -> "TrainerConfig":
        apart = [one.algorithm.kind for one in self.inputs if asks_parts(one.algorithm)]
        if apart and isinstance(self.strategy, Fsdp | DeepSpeed):
            raise ValueError(
                f"{apart[0]} asks parts of the network alone, which strategy {self.strategy.kind} does not put "
                "together; allowed are ddp and local_multi_gpu"
            )
        if isinstance(self.strategy, Fsdp | DeepSpeed) and any(isinstance(one.algorithm, Trpo) for one in self.inputs):
            raise ValueError(
                f"trpo moves the policy whole, which strategy {self.strategy.kind} splits; allowed are ddp and "
                "local_multi_gpu"
            )
        kept = [one for one in self.inputs if isinstance(one.algorithm, Online) and one.algorithm.first_policy_coef]
        if kept and isinstance(self.strategy, Fsdp | DeepSpeed):
            raise ValueError(
                f"first_policy_coef keeps a copy of the whole network, which strategy {self.strategy.kind} splits; "
                "allowed are ddp and local_multi_gpu"
            )
        return self

    @model_validator(mode="after")
    def _can_be_mixed(self) -> "TrainerConfig":
        if self.mixing.steps == "together" and isinstance(self.strategy, LocalMultiGpu | DeepSpeed):
            raise ValueError(
                f"mixing.steps is together with strategy {self.strategy.kind}, which steps by itself; "
                "allowed are in_turn, or strategy ddp or fsdp"
            )
        if self.mixing.steps == "together" and any(isinstance(one.algorithm, Trpo) for one in self.inputs):
            raise ValueError(
                "mixing.steps is together with trpo, whose policy is moved by no sum of losses; allowed is in_turn"
            )
        return self

    @model_validator(mode="after")
    def _can_be_run(self) -> "TrainerConfig":
        problem = strategy_problem(self.strategy, self.optimizer, self.precision, self.workers, self.num_gpus)
        if problem is not None:
            raise ValueError(problem)
        return self
