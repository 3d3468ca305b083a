"""A value that is learned at the scale of the returns; the scale is part of the weights, so it travels with them."""

import torch
from torch import Tensor, nn

from app.algorithms.popart import Moments, first_moments, moved, rescale, sums


class ScaledValue(nn.Module):
    """A linear head that PopArt keeps at mean 0 and deviation 1 inside, and that answers at the rewards' scale."""

    def __init__(self, head: nn.Linear, step_size: float) -> None:
        """Wraps a head; at first it answers as the head alone would.

        Args:
          head: An output for each reward.
          step_size: Share of each batch in the running moments, in (0, 1].
        """
        super().__init__()
        self.head = head
        self._step_size = step_size
        first = first_moments(head.out_features)
        self.mean: Tensor
        self.square: Tensor
        self.shift: Tensor
        self.scale: Tensor
        self.register_buffer("mean", first.mean)
        self.register_buffer("square", first.square)
        self.register_buffer(
            "shift", torch.zeros(head.out_features)
        )  # Mean and deviation as the forward pass takes them.
        self.register_buffer("scale", torch.ones(head.out_features))

    @property
    def deviation(self) -> Tensor:
        """Deviation of the returns, as far as is known, on the CPU, [heads]."""
        return self.scale.detach().cpu().clone()

    def forward(self, features: Tensor) -> Tensor:
        """Returns values at the scale of the rewards, [B, heads], for features [B, n]."""
        normal: Tensor = self.head(features)
        return normal.float() * self.scale + self.shift

    def moments(self, target: Tensor, weight: Tensor) -> Tensor:
        """Returns sums over the rows that count, float64 [3, heads], which may be added up over workers.

        Args:
          target: Value targets at the scale of the rewards, [N], or [N, heads].
          weight: 1 for rows that count, [N].
        """
        return sums(target.reshape(len(target), -1), weight).cpu()

    def observe(self, batch: Tensor) -> None:
        """Takes the sums of one batch in; what is answered stays as it was. While it is evaluated nothing changes."""
        if not self.training:  # Else rows that are measured alone would change weights.
            return
        old = Moments(self.mean.cpu(), self.square.cpu())
        new = moved(old, batch, self._step_size)
        device = self.mean.device
        rescale(self.head, Moments(*(x.to(device) for x in old)), Moments(*(x.to(device) for x in new)))
        self.mean.copy_(new.mean)
        self.square.copy_(new.square)
        self.shift.copy_(new.mean)
        self.scale.copy_(new.deviation)
