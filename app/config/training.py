"""Buffers, algorithms and trainers: what ``python -m train`` starts."""

from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from app.config.base import Config, Name, Process


class BufferConfig(Process):
    """Where trajectories wait for the trainer: first in, first out, each row once."""

    enable: Literal["train", "deploy", "both"] = "train"
    """Mode in which this component exists."""

    capacity_rows: int | None = Field(None, gt=0)
    """Rows kept before the oldest trajectory is dropped and counted; null keeps one batch a worker and one push."""

    credits_batches: int = Field(2, ge=1)
    """Batches that may be under way to one worker: 1 is the freshest, 2 hide the stream's delay."""

    max_policy_lag: int = Field(8, ge=0)
    """Largest age of a row at consumption, in published versions; older rows are masked and counted."""

    heartbeat_s: float = Field(5.0, gt=0, le=15)
    """Seconds without a batch after which the workers get an empty one, so that none waits for ever."""


class OnPolicy(Config):
    """What all algorithms that learn from their own, newest games share."""

    gamma: float = Field(0.99, gt=0, le=1)
    """Discount per tick."""

    value_coef: float = Field(0.5, ge=0)
    """Weight of the value loss."""

    entropy_coef: float = Field(0.01, ge=0)
    """Weight of the entropy bonus."""

    epochs: int = Field(1, ge=1)
    """Passes over each batch."""

    minibatch_rows: int = Field(256, ge=1)
    """Rows of one optimizer step."""


class Ppo(OnPolicy):
    """Clipped PPO (Schulman et al., 2017)."""

    kind: Literal["ppo"] = "ppo"

    gae_lambda: float = Field(0.95, ge=0, le=1)
    """Mixing of one-step (0) and Monte Carlo (1) returns."""

    clip_epsilon: float = Field(0.2, gt=0)
    """Largest change of an action's probability that is still rewarded, as a ratio minus 1."""

    epochs: int = Field(4, ge=1)
    """Passes over each batch."""


class A2c(OnPolicy):
    """Advantage actor-critic (Mnih et al., 2016): one pass over each batch, as it was played."""

    kind: Literal["a2c"] = "a2c"

    gae_lambda: float = Field(1.0, ge=0, le=1)
    """Mixing of one-step (0) and Monte Carlo (1) returns."""

    normalise_advantage: bool = False
    """Whether advantages are brought to mean 0 and deviation 1."""


class Traced(OnPolicy):
    """What the algorithms that correct for older policies share: V-trace (Espeholt et al., 2018)."""

    trace_lambda: float = Field(1.0, ge=0, le=1)
    """Decay of the trace."""

    rho_clip: float = Field(1.0, gt=0)
    """Largest importance ratio of a temporal difference."""

    c_clip: float = Field(1.0, gt=0)
    """Largest importance ratio of the trace."""


class Impala(Traced):
    """IMPALA (Espeholt et al., 2018): the actor-critic loss on V-trace's targets."""

    kind: Literal["impala"] = "impala"


class Appo(Traced):
    """Asynchronous PPO: the clipped surrogate on V-trace's advantages."""

    kind: Literal["appo"] = "appo"

    clip_epsilon: float = Field(0.2, gt=0)
    """Largest change of an action's probability that is still rewarded, as a ratio minus 1."""


def _kind(value: object) -> object:
    """Returns which algorithm a value describes; PPO where it does not say."""
    return value.get("kind", "ppo") if isinstance(value, dict) else getattr(value, "kind", "ppo")


Algorithm = Annotated[
    Annotated[Ppo, Tag("ppo")]
    | Annotated[A2c, Tag("a2c")]
    | Annotated[Impala, Tag("impala")]
    | Annotated[Appo, Tag("appo")],
    Discriminator(_kind),
]


class TrainInput(Config):
    """One stream of training batches."""

    buffer: Name
    """Buffer that the rows come from."""

    algorithm: Algorithm = Ppo()
    """How they are learned from."""

    batch_rows: int = Field(1024, ge=2)
    """Rows of one batch of one worker, bootstrap rows included."""

    @model_validator(mode="after")
    def _minibatches_fit(self) -> "TrainInput":
        if self.algorithm.minibatch_rows > self.batch_rows:
            raise ValueError(
                f"algorithm.minibatch_rows is {self.algorithm.minibatch_rows}; "
                f"allowed is at most batch_rows, {self.batch_rows}"
            )
        return self


class Optimizer(Config):
    """Adam (Kingma & Ba, 2015)."""

    learning_rate: float = Field(5e-4, gt=0)
    """Step size."""

    epsilon: float = Field(1e-5, gt=0)
    """Term of the denominator."""

    max_grad_norm: float = Field(0.5, gt=0)
    """Gradients are scaled down to this norm."""


class BestCheckpoints(Config):
    """The checkpoints that did best."""

    count: int = Field(1, ge=1)
    """How many."""

    metric: str = "mean_return"
    """What they are compared by: ``mean_return``, or a metric of the updates; a checkpoint without it is no
    candidate."""

    games: int = Field(100, ge=1)
    """Newest finished training games that make up ``mean_return``."""

    order: Literal["largest", "smallest"] = "largest"
    """Which end is the better one."""


class KeepCheckpoints(Config):
    """The checkpoints that stay when another is written: those that any of these rules keeps."""

    last: int = Field(3, ge=1)
    """Newest ones."""

    every_nth: int | None = Field(None, ge=1)
    """Each n-th that is written stays for good; null keeps none for good."""

    best: BestCheckpoints | None = None
    """Those that did best; null keeps none for that."""


class CheckpointsConfig(Config):
    """When a trainer saves, what stays, and what a start makes of what is there."""

    every_updates: int | None = Field(None, ge=1)
    """Updates between checkpoints; null goes by time alone."""

    every_s: float | None = Field(60.0, gt=0)
    """Seconds between checkpoints; null goes by updates alone. With both, whichever comes first."""

    keep: KeepCheckpoints = KeepCheckpoints()

    on_existing: Literal["resume", "reuse", "overwrite", "refuse"] = "overwrite"
    """What a start without ``--restore`` makes of checkpoints that are there. ``resume``: goes on from the newest.
    ``reuse``: keeps them and starts with the newest one's weights, but a new optimizer. ``overwrite``: moves them aside
    and begins anew. ``refuse``: stops."""

    @model_validator(mode="after")
    def _saves(self) -> "CheckpointsConfig":
        if self.every_updates is None and self.every_s is None:
            raise ValueError("every_updates and every_s are both null; allowed is a number for one of them or for both")
        return self


class TrainerConfig(Process):
    """Optimises one model."""

    enable: Literal["train", "deploy", "both"] = "train"
    """Mode in which this component exists."""

    model: Name
    """Model that is trained."""

    inputs: tuple[TrainInput, ...] = Field(min_length=1, max_length=1)
    """Streams that it learns from; one at present."""

    optimizer: Optimizer = Optimizer()

    workers: int = Field(1, ge=1)
    """Data-parallel workers (DDP)."""

    publish_every_updates: int = Field(1, ge=1)
    """Updates between published weights."""

    checkpoints: CheckpointsConfig = CheckpointsConfig()

    max_updates: int | None = Field(None, ge=1)
    """Updates after which training ends; null trains until it is told to stop."""

    max_restarts: int = Field(3, ge=0)
    """Failed workers after which training gives up."""

    num_cpus: float = Field(0.5, ge=0)
    """CPU cores that one worker reserves."""
