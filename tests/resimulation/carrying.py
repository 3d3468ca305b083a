"""A recurrent policy small enough to follow by hand."""

import torch
from torch import Tensor, nn

from app.models.distributions.categorical import Categorical
from app.models.module import PolicyOutput
from app.models.spec import ArraySpec, ModelSpec


class CarryingPolicy(nn.Module):
    """Counts the ticks of its game in its state; the count is its value."""

    def __init__(self) -> None:
        super().__init__()
        self.spec = ModelSpec(ArraySpec((2,)), Categorical(2), ArraySpec((1,)))
        self.bias = nn.Parameter(torch.zeros(2))

    def forward(self, observation: Tensor, state: Tensor) -> PolicyOutput:
        following = state + 1
        return PolicyOutput(self.bias.expand(len(observation), -1), following[:, 0], following)
