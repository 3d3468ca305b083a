"""What becomes of rewards before they are learned from: a hook's, a running scale, and bounds, in this order."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor

from app.algorithms.batch_columns import Batch, BatchColumns, at, flat
from app.algorithms.contract import Learned, Learner, taken
from app.algorithms.descent import ReduceSum
from app.algorithms.episode_sums import EpisodeSums, Returns, Row
from app.algorithms.shaping import Moves, Shaping
from app.models.spec import ModelSpec
from app.types import RowKind

SMALLEST_VARIANCE: Final = 1e-8
"""Keeps rewards that never differ from being blown up."""
SUMS: Final = "reward_sums"
"""Name of the running sums in a learner's state."""


@dataclass(frozen=True, slots=True)
class RewardSettings:
    """What is done with rewards."""

    gamma: float
    """Discount per tick of the sums that the running scale is made of."""
    shaping: Shaping | None = None
    """None keeps them."""
    normalise: bool = False
    """Whether they are divided by the running deviation of the discounted sum of each episode so far."""
    largest: float | None = None
    """Bound of what is learned from, on both sides; None bounds nothing."""


class Rewarded:
    """A learner that is shown other rewards than those of the game; see ``Learner``. Both are told apart."""

    def __init__(self, learner: Learner, spec: ModelSpec, settings: RewardSettings, reduce_sum: ReduceSum) -> None:
        """Begins without a running scale.

        Args:
          learner: Learns from trajectories.
          spec: Shapes of the network.
          settings: What is done with rewards.
          reduce_sum: Adds up over the workers.
        """
        self._learner = learner
        self._spec = spec
        self._settings = settings
        self._reduce_sum = reduce_sum
        self._episodes = EpisodeSums(settings.gamma)
        self._sums = torch.zeros(3, dtype=torch.float64)
        """Rows, and the discounted sums so far and their squares over all of them."""

    def update(self, batch: Mapping[str, Tensor], shuffle: torch.Generator) -> Learned:
        """Learns from a batch with other rewards; see ``Learner``.

        Args:
          batch: Columns of ``app.replay.rows``, [N, …], or of ``app.replay.sequences``, [K, T, …].
          shuffle: Draws all that is random in the update.
        """
        rows = flat(batch)
        steps = torch.nonzero(rows["kind"] == RowKind.STEP).squeeze(1)
        shaped = rows["reward"].clone()
        if self._settings.shaping is not None:
            shaped[steps] = self._shaped(rows, steps, self._settings.shaping)
        counted = steps[rows["weight"][steps] > 0]
        ended = self._follow(rows, shaped, counted)
        given = shaped / self._scale() if self._settings.normalise else shaped
        if self._settings.largest is not None:
            given = given.clamp(-self._settings.largest, self._settings.largest)
        told = self._told(rows["reward"][counted], given[counted], ended)
        learned = self._learner.update({**batch, "reward": given.reshape(batch["kind"].shape)}, shuffle)
        return learned._replace(metrics=learned.metrics | told) if learned.metrics else learned

    def state_dict(self) -> dict[str, Tensor]:
        """Returns the learner's state, and the running scale."""
        return self._learner.state_dict() | ({SUMS: self._sums.clone()} if self._settings.normalise else {})

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Goes on from a state; see ``Learner``."""
        own = {name: x for name, x in state.items() if name == SUMS}
        wanted = {SUMS: self._sums} if self._settings.normalise else {}
        self._sums = taken(own, wanted, "changed rewards").get(SUMS, self._sums).clone()
        self._learner.load_state_dict({name: x for name, x in state.items() if name != SUMS})

    def _shaped(self, rows: Batch, steps: Tensor, shaping: Shaping) -> Tensor:
        columns, after = BatchColumns(self._spec), steps + 1
        observation, action = columns.leaves(rows, "observation"), columns.leaves(rows, "action")
        moves = Moves(
            self._spec.inputs.unflatten(at(observation, steps)),
            self._spec.actions.unflatten(at(action, steps)),
            rows["reward"][steps],
            self._spec.inputs.unflatten(at(observation, after)),
            rows["kind"][after] == RowKind.TERMINATED,
        )
        found = shaping(moves)
        if found.shape != steps.shape:
            got, allowed = list(found.shape), list(steps.shape)
            raise ValueError(f"shaping returned {got}; allowed is a reward for each move, {allowed}")
        return found.detach().to(rows["reward"])

    def _follow(self, rows: Batch, shaped: Tensor, counted: Tensor) -> list[Returns]:
        """Takes the batch into the running sums, over all workers, and returns the episodes that ended."""
        columns = (rows["episode"], rows["tick"], rows["kind"], rows["reward"], shaped)
        followed = self._episodes.follow([Row(*row) for row in zip(*(x.tolist() for x in columns), strict=True)])
        sums = torch.tensor(followed.discounted, dtype=torch.float64)[counted.cpu()]
        self._sums = self._sums + self._reduce_sum(torch.stack([torch.ones_like(sums), sums, sums.square()]).sum(1))
        return followed.ended

    def _scale(self) -> float:
        count, total, square = self._sums.tolist()
        if not count:
            return 1.0
        return math.sqrt(max(square / count - (total / count) ** 2, SMALLEST_VARIANCE))

    def _told(self, raw: Tensor, given: Tensor, ended: list[Returns]) -> dict[str, float]:
        """Returns means over all workers: of both rewards, and of both returns of the episodes that ended."""
        found = [float(len(raw)), float(raw.sum()), float(given.sum())]
        found += [float(len(ended)), sum(one.raw for one in ended), sum(one.shaped for one in ended)]
        rows, reward, reward_given, games, returned, returned_shaped = self._reduce_sum(
            torch.tensor(found, dtype=torch.float64)
        ).tolist()
        told = {"reward": reward / rows, "reward_learned": reward_given / rows} if rows else {}
        if games:
            told |= {"return": returned / games, "return_shaped": returned_shaped / games}
        return told | ({"reward_scale": self._scale()} if self._settings.normalise else {})
