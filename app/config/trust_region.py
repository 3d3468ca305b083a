"""TRPO (Schulman et al., 2015)."""

from typing import Literal

from pydantic import Field

from app.config.from_trajectories import OwnGames


class Trpo(OwnGames):
    """Trust region policy optimization: one step of the policy an update; policy and value share no layer."""

    kind: Literal["trpo"] = "trpo"

    gae_lambda: float = Field(0.95, ge=0, le=1)
    """Mixing of one-step (0) and Monte Carlo (1) returns."""

    max_kl: float = Field(0.01, gt=0)
    """Largest divergence of the policy after an update from the one before, a mean over the batch, in nats."""

    cg_steps: int = Field(10, ge=1)
    """Steps of conjugate gradients, by which the inverse of the Fisher matrix is approximated."""

    damping: float = Field(0.1, ge=0)
    """What is added to the diagonal of the Fisher matrix; the larger, the nearer to a plain gradient step."""

    line_search_steps: int = Field(10, ge=1)
    """Lengths of the step that are tried; where none reaches more within ``max_kl``, the policy stays as it is."""

    line_search_shrink: float = Field(0.7, gt=0, lt=1)
    """From one length to the next."""

    entropy_coef: float = Field(0.0, ge=0)
    """Weight of the entropy bonus."""

    epochs: int = Field(5, ge=1)
    """Passes of the critic over each batch."""

    value_coef: float = Field(1.0, ge=0)
    """Weight of the critic's loss, which has optimizer steps of its own."""
