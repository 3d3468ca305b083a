"""A network with other weights, to tell weights from constants."""

import copy
from typing import Final

import torch
from torch import nn

SEED: Final = 20_240


def shaken(module: nn.Module) -> nn.Module:
    """Returns a copy of a network in evaluation mode with other weights; what was positive stays positive."""
    other = copy.deepcopy(module).eval()
    generator = torch.Generator().manual_seed(SEED)
    with torch.no_grad():
        for x in other.state_dict().values():
            if x.is_floating_point():
                noise = torch.rand(x.shape, generator=generator).to(x)
                x.mul_(1 + 0.5 * noise).add_(0.05 * noise)
    return other
