"""What becomes of rewards before they are learned from: a hook's, a running scale, and bounds, in this order."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor

from app.algorithms.batch_columns import Batch, BatchColumns, at, flat
from app.algorithms.contract import Learned, Learner, taken
from app.algorithms.descent import ReduceSum
from app.algorithms.reward_column import RewardColumn
from app.algorithms.shaping import Moves, Shaping
from app.algorithms.value_heads import columns
from app.models.spec import ModelSpec
from app.types import RowKind

SUMS: Final = "reward_sums"
"""Name of the running sums in a learner's state."""


@dataclass(frozen=True, slots=True)
class RewardSettings:
    """What is done with rewards."""

    gamma: float
    """Discount per tick of the sums that the running scale is made of."""
    gammas: tuple[float, ...] = ()
    """The same of each reward that the model names; none where there is one."""
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
        names = spec.rewards or ("",)
        gammas = settings.gammas or (settings.gamma,)
        self._columns = [RewardColumn(*one, reduce_sum) for one in zip(names, gammas, strict=True)]
        """Of each reward."""

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
        told: dict[str, float] = {}
        given = []
        by_reward = (columns(x).unbind(1) for x in (rows["reward"], shaped))
        for column, raw, own in zip(self._columns, *by_reward, strict=True):
            ended = column.follow(rows, raw, own, counted)
            given.append(self._given(column, own))
            told |= column.told(raw[counted], given[-1][counted], ended, scaled=self._settings.normalise)
        learned = self._learner.update(
            {**batch, "reward": torch.stack(given, -1).reshape(batch["reward"].shape)}, shuffle
        )
        return learned._replace(metrics=learned.metrics | told) if learned.metrics else learned

    def state_dict(self) -> dict[str, Tensor]:
        """Returns the learner's state, and the running scale."""
        return self._learner.state_dict() | (self._sums() if self._settings.normalise else {})

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Goes on from a state; see ``Learner``."""
        own = {name: x for name, x in state.items() if name.partition("/")[0] == SUMS}
        found = taken(own, self._sums() if self._settings.normalise else {}, "changed rewards")
        for column in self._columns:
            column.sums = found.get(column.metric(SUMS), column.sums).clone()
        self._learner.load_state_dict({name: x for name, x in state.items() if name not in own})

    def _given(self, column: RewardColumn, shaped: Tensor) -> Tensor:
        given = shaped / column.scale() if self._settings.normalise else shaped
        largest = self._settings.largest
        return given if largest is None else given.clamp(-largest, largest)

    def _sums(self) -> dict[str, Tensor]:
        return {column.metric(SUMS): column.sums.clone() for column in self._columns}

    def _shaped(self, rows: Batch, steps: Tensor, shaping: Shaping) -> Tensor:
        names, after = BatchColumns(self._spec), steps + 1
        observation, action = names.leaves(rows, "observation"), names.leaves(rows, "action")
        moves = Moves(
            self._spec.inputs.unflatten(at(observation, steps)),
            self._spec.actions.unflatten(at(action, steps)),
            rows["reward"][steps],
            self._spec.inputs.unflatten(at(observation, after)),
            rows["kind"][after] == RowKind.TERMINATED,
            self._spec.rewards,
        )
        found = shaping(moves)
        if found.shape != moves.reward.shape:
            got, allowed = list(found.shape), list(moves.reward.shape)
            raise ValueError(f"shaping returned {got}; allowed is a reward for each move, {allowed}")
        return found.detach().to(rows["reward"])
