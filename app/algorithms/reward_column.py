"""One reward over the batches of all workers: its running scale, and what is told of it."""

import math
from typing import Final

import torch
from torch import Tensor

from app.algorithms.batch_columns import Batch
from app.algorithms.descent import ReduceSum
from app.algorithms.episode_sums import EpisodeSums, Returns, Row

SMALLEST_VARIANCE: Final = 1e-8
"""Keeps rewards that never differ from being blown up."""


class RewardColumn:
    """Follows the episodes of one reward."""

    def __init__(self, name: str, gamma: float, reduce_sum: ReduceSum) -> None:
        """Begins without a running scale.

        Args:
          name: The reward's; empty where there is one.
          gamma: Discount per tick of the sums that the scale is made of.
          reduce_sum: Adds up over the workers.
        """
        self._name = name
        self._reduce_sum = reduce_sum
        self._episodes = EpisodeSums(gamma)
        self.sums = torch.zeros(3, dtype=torch.float64)
        """Rows, and the discounted sums so far and their squares over all of them."""

    def follow(self, rows: Batch, raw: Tensor, shaped: Tensor, counted: Tensor) -> list[Returns]:
        """Takes a batch into the running sums, over all workers, and returns the episodes that ended.

        Args:
          rows: Columns, [N, …].
          raw: The reward as the game gave it, [N].
          shaped: As it is learned from, [N].
          counted: Steps that are learned from, [M].
        """
        columns = (rows["episode"], rows["tick"], rows["kind"], raw, shaped)
        followed = self._episodes.follow([Row(*row) for row in zip(*(x.tolist() for x in columns), strict=True)])
        sums = torch.tensor(followed.discounted, dtype=torch.float64)[counted.cpu()]
        self.sums = self.sums + self._reduce_sum(torch.stack([torch.ones_like(sums), sums, sums.square()]).sum(1))
        return followed.ended

    def scale(self) -> float:
        """Returns the running deviation of the discounted sums; 1 before the first."""
        count, total, square = self.sums.tolist()
        if not count:
            return 1.0
        return math.sqrt(max(square / count - (total / count) ** 2, SMALLEST_VARIANCE))

    def told(self, raw: Tensor, given: Tensor, ended: list[Returns], *, scaled: bool) -> dict[str, float]:
        """Returns means over all workers: of both rewards, and of both returns of the episodes that ended.

        Args:
          raw: Rewards as the game gave them, [M].
          given: As they are learned from, [M].
          ended: Episodes.
          scaled: Whether the scale is told too.
        """
        found = [float(len(raw)), float(raw.sum()), float(given.sum())]
        found += [float(len(ended)), sum(one.raw for one in ended), sum(one.shaped for one in ended)]
        rows, reward, reward_given, games, returned, returned_shaped = self._reduce_sum(
            torch.tensor(found, dtype=torch.float64)
        ).tolist()
        told = {"reward": reward / rows, "reward_learned": reward_given / rows} if rows else {}
        if games:
            told |= {"return": returned / games, "return_shaped": returned_shaped / games}
        told |= {"reward_scale": self.scale()} if scaled else {}
        return {self.metric(name): value for name, value in told.items()}

    def metric(self, name: str) -> str:
        """Returns what something is called of this reward."""
        return f"{name}/{self._name}" if self._name else name
