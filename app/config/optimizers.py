"""Optimizers: how gradients change the weights."""

from pydantic import Field

from app.config.base import Config


class Optimizer(Config):
    """Adam (Kingma & Ba, 2015)."""

    learning_rate: float = Field(5e-4, gt=0)
    """Step size."""

    epsilon: float = Field(1e-5, gt=0)
    """Term of the denominator."""

    max_grad_norm: float = Field(0.5, gt=0)
    """Gradients are scaled down to this norm."""
