"""Tells the game's rewards apart from those that are learned from."""

import torch
from torch import Tensor

from app.algorithms.batch_columns import Batch
from app.algorithms.descent import ReduceSum
from app.algorithms.episode_sums import EpisodeSums, Row


class BothRewards:
    """Follows episodes through batches, and tells means of rewards and returns over all workers."""

    def __init__(self, name: str, reduce_sum: ReduceSum) -> None:
        """Begins without an episode.

        Args:
          name: Of the rewards that are learned from; the game's have none.
          reduce_sum: Adds up over the workers.
        """
        self._name = name
        self._reduce_sum = reduce_sum
        self._episodes = EpisodeSums(gamma=1.0)

    def told(self, rows: Batch, given: Tensor) -> dict[str, float]:
        """Returns ``reward``, and ``return`` of the episodes that ended, each twice; what has no rows is left out.

        Args:
          rows: Columns of ``app.replay.rows``, [N, …].
          given: Rewards that are learned from, [N].
        """
        columns = (rows["episode"], rows["tick"], rows["kind"], rows["reward"], given)
        ended = self._episodes.follow([Row(*row) for row in zip(*(x.tolist() for x in columns), strict=True)]).ended
        counted = rows["weight"] > 0
        found = [float(counted.sum()), float(rows["reward"][counted].sum()), float(given[counted].sum())]
        found += [float(len(ended)), sum(one.raw for one in ended), sum(one.shaped for one in ended)]
        steps, raw, own, games, raw_return, own_return = self._reduce_sum(
            torch.tensor(found, dtype=torch.float64)
        ).tolist()
        told = {"reward": raw / steps, f"reward_{self._name}": own / steps} if steps else {}
        if games:
            told |= {"return": raw_return / games, f"return_{self._name}": own_return / games}
        return told
