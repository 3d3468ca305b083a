"""PopArt (van Hasselt et al., 2016), https://arxiv.org/abs/1602.07714: values learned at a scale of their own."""

from typing import Final, NamedTuple

import torch
from torch import Tensor, nn

SMALLEST_DEVIATION: Final = 1e-4
"""Keeps targets that never differ from being blown up."""
LARGEST_DEVIATION: Final = 1e6


class Moments(NamedTuple):
    """Running moments of the targets of each value head, float64 [heads]."""

    mean: Tensor
    square: Tensor
    """Mean of the squares."""

    @property
    def deviation(self) -> Tensor:
        """Standard deviation, within bounds, [heads]."""
        variance = (self.square - self.mean.square()).clamp(min=0.0)
        return variance.sqrt().clamp(SMALLEST_DEVIATION, LARGEST_DEVIATION)

    def normalise(self, target: Tensor) -> Tensor:
        """Returns targets [..., heads] at the scale that is learned."""
        return ((target - self.mean) / self.deviation).to(target.dtype)

    def denormalise(self, value: Tensor) -> Tensor:
        """Returns values [..., heads] at the scale of the rewards."""
        return (value * self.deviation + self.mean).to(value.dtype)


def first_moments(heads: int) -> Moments:
    """Returns moments that change nothing: mean 0 and deviation 1."""
    return Moments(torch.zeros(heads, dtype=torch.float64), torch.ones(heads, dtype=torch.float64))


def updated(moments: Moments, target: Tensor, weight: Tensor, step_size: float) -> Moments:
    """Returns the moments after a batch; the same where no row counts.

    Args:
      moments: Those before.
      target: Targets at the scale of the rewards, [B, heads].
      weight: 1 for rows that count, [B].
      step_size: Share of the batch in the new moments, in (0, 1].

    Raises:
      ValueError: The step size lies outside (0, 1].
    """
    if not 0 < step_size <= 1:
        raise ValueError(f"updated needs a step size in (0, 1], got {step_size}")
    return moved(moments, sums(target, weight), step_size)


def sums(target: Tensor, weight: Tensor) -> Tensor:
    """Returns weight, weighted targets and their squares, summed over the rows, float64 [3, heads].

    Sums of several workers may be added up.

    Args:
      target: Targets at the scale of the rewards, [B, heads].
      weight: 1 for rows that count, [B].
    """
    share = weight.double()[:, None].expand_as(target)
    counted = torch.where(share > 0, target, 0.0).double()  # What does not count may be anything, even NaN.
    return torch.stack([share, share * counted, share * counted.square()]).sum(1)


def moved(moments: Moments, batch: Tensor, step_size: float) -> Moments:
    """Returns the moments after a batch; the same where no row counts.

    Args:
      moments: Those before.
      batch: ``sums`` of its rows.
      step_size: Share of the batch in the new moments, in (0, 1].
    """
    total, first, second = batch
    if float(total[0]) == 0:
        return moments
    return Moments(moments.mean.lerp(first / total, step_size), moments.square.lerp(second / total, step_size))


@torch.no_grad()
def rescale(head: nn.Linear, old: Moments, new: Moments) -> None:
    """Changes a head in place so that its denormalised outputs under the new moments are those under the old."""
    ratio = old.deviation / new.deviation
    bias = (old.deviation * head.bias.double() + old.mean - new.mean) / new.deviation
    head.weight.mul_(ratio[:, None].to(head.weight.dtype))
    head.bias.copy_(bias.to(head.bias.dtype))
