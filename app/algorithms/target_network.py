"""Slowly moving copies of networks, by Polyak averaging (Lillicrap et al., 2016), https://arxiv.org/abs/1509.02971."""

import torch
from torch import nn


@torch.no_grad()
def track(target: nn.Module, online: nn.Module, rate: float) -> None:
    """Moves a target network in place by a share towards the online one; buffers are copied whole.

    Args:
      target: The slow network.
      online: The network that is trained, of the same shapes.
      rate: Share in [0, 1]; 1 copies.

    Raises:
      ValueError: The rate lies outside its range.
    """
    if not 0 <= rate <= 1:
        raise ValueError(f"track needs a rate in [0, 1], got {rate}")
    for slow, fast in zip(target.parameters(), online.parameters(), strict=True):
        slow.data.lerp_(fast.data, rate)
    for kept, newest in zip(target.buffers(), online.buffers(), strict=True):
        kept.copy_(newest)
