"""Several named rewards: a value head for each, with an estimator of its own; the policy follows their weighted sum."""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from app.algorithms.estimators import Estimate, Estimator, Played
from app.algorithms.worth import Worth


class Head(NamedTuple):
    """What a named reward counts."""

    name: str
    weight: float
    """Of its advantage in the policy's."""


Heads = tuple[Head, ...]
"""In the order of the columns; none where there is one reward."""


@dataclass(frozen=True, slots=True)
class PerHead:
    """An estimator for each head; rewards and values are [N, heads]. All of them see the same ratios."""

    estimators: tuple[Estimator, ...]

    @property
    def wants_log_ratio(self) -> bool:
        """Whether one of them corrects for the policy that acted."""
        return any(one.wants_log_ratio for one in self.estimators)

    def __call__(self, played: Played) -> Estimate:
        """Returns the advantages and value targets of each head, [N, heads].

        Raises:
          ValueError: Rewards or values are not those of so many heads.
        """
        shape = (len(played.kind), len(self.estimators))
        if not played.reward.shape == played.value.shape == shape:
            got = f"{list(played.reward.shape)} and {list(played.value.shape)}"
            raise ValueError(f"{shape[1]} value heads need rewards and values {list(shape)}, got {got}")
        found = [
            one(played._replace(reward=played.reward[:, at].contiguous(), value=played.value[:, at].contiguous()))
            for at, one in enumerate(self.estimators)
        ]
        return Estimate(*(torch.stack(column, 1) for column in zip(*found, strict=True)))


def weighted(x: Tensor, heads: Heads) -> Tensor:
    """Returns the sum over the heads by their weights, [N], of [N, heads]; what there is without heads as it is."""
    return x @ torch.tensor([one.weight for one in heads], dtype=x.dtype, device=x.device) if heads else x


def columns(x: Tensor) -> Tensor:
    """Returns [N] or [N, heads] as [N, heads]."""
    return x[:, None] if x.ndim == 1 else x


def value_errors(value: Tensor, worth: Worth, heads: Heads) -> dict[str, Tensor]:
    """Returns the squared errors of the values of each head, summed over the rows that count; nothing without heads.

    Args:
      value: Current values, [B, heads].
      worth: What was done, [B].
      heads: Whose they are.
    """
    if not heads:
        return {}
    squares = (value.detach() - worth.target_value).square()
    sums = (worth.weight[:, None] * squares).sum(0)
    return {f"value_error/{one.name}": x for one, x in zip(heads, sums, strict=True)}


def told(metric: str, x: Tensor, heads: Heads) -> dict[str, float]:
    """Returns a metric of each head as ``metric/name``, or the only one as ``metric``.

    Args:
      metric: Its name.
      x: [heads]; one number without heads.
      heads: Whose they are.
    """
    values = x.reshape(-1).tolist()
    names = [f"{metric}/{one.name}" for one in heads] or [metric]
    return dict(zip(names, values, strict=True))
