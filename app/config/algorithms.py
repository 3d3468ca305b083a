"""Algorithms: how rows are learned from."""

from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag

from app.config.base import Config


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
