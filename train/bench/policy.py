"""A policy of any size, for benchmarks that move weights."""

import math

import torch
from torch import Tensor, nn

from app.models.distributions.categorical import Categorical
from app.models.module import PolicyOutput
from app.models.spec import ArraySpec, ModelSpec


class SizedPolicy(nn.Module):
    """Maps [B, 4] to two logits and a value, through one square layer that holds nearly all weights."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.spec = ModelSpec(ArraySpec((4,)), Categorical(2))
        self.first = nn.Linear(4, width)
        self.square = nn.Linear(width, width)
        self.policy = nn.Linear(width, 2)
        self.critic = nn.Linear(width, 1)

    def forward(self, observation: Tensor) -> PolicyOutput:
        """Returns logits and value."""
        hidden = torch.tanh(self.square(torch.tanh(self.first(observation))))
        return PolicyOutput(self.policy(hidden), self.critic(hidden).squeeze(-1))


def build(mb: float) -> SizedPolicy:
    """Returns a policy whose weights are at least ``mb`` MiB.

    Args:
      mb: Size in MiB.
    """
    return SizedPolicy(math.ceil(math.sqrt(mb * 2**20 / 4)))
