"""Layers whose weights carry learned noise (Fortunato et al., 2018), https://arxiv.org/abs/1706.10295."""

import math

import torch
from torch import Tensor, nn

FIRST_DEVIATION = 0.5
"""σ₀ of the paper, for factorised noise."""


class NoisyLinear(nn.Module):
    """A linear layer with factorised noise, which stays as it was drawn until it is drawn anew.

    The noise is part of the weights: all games that play one version explore with the same noise.
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        bound = 1 / math.sqrt(inputs)
        deviation = FIRST_DEVIATION * bound
        self.weight = nn.Parameter(torch.empty(outputs, inputs).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(outputs).uniform_(-bound, bound))
        self.weight_deviation = nn.Parameter(torch.full((outputs, inputs), deviation))
        self.bias_deviation = nn.Parameter(torch.full((outputs,), deviation))
        self.noise_in: Tensor
        self.noise_out: Tensor
        self.register_buffer("noise_in", torch.zeros(inputs))
        self.register_buffer("noise_out", torch.zeros(outputs))
        self.draw(None)

    def draw(self, generator: torch.Generator | None) -> None:
        """Draws the noise anew; None takes torch's own generator."""
        for noise in (self.noise_in, self.noise_out):
            drawn = torch.randn(noise.shape, generator=generator)
            noise.copy_(drawn.sign() * drawn.abs().sqrt())

    def forward(self, rows: Tensor) -> Tensor:
        """Returns [B, outputs] of [B, inputs]."""
        weight = self.weight + self.weight_deviation * torch.outer(self.noise_out, self.noise_in)
        return nn.functional.linear(rows, weight, self.bias + self.bias_deviation * self.noise_out)
