"""What the rows of a batch were worth: advantages and value targets of trajectories that stand one behind another."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

import torch
from torch import Tensor

from app.algorithms.gae import gae
from app.algorithms.played_steps import steps_of
from app.algorithms.vtrace import Clips, vtrace
from app.types import RowKind


class Played(NamedTuple):
    """Rows in the order of ``app.replay.rows``, on the CPU, all [N]."""

    reward: Tensor
    """Reward after the action of each row; ignored in bootstrap rows."""
    kind: Tensor
    """``RowKind`` of each row."""
    value: Tensor
    """Present value of the state that each row was acted in, or that a bootstrap row reached."""
    log_ratio: Tensor | None
    """Log-ratio of the present to the behaviour probability of the action taken; None where it is not wanted."""


class Estimate(NamedTuple):
    """What each row was worth, [N]; 0 in bootstrap rows."""

    advantage: Tensor
    target_value: Tensor


class Estimator(Protocol):
    """Estimates what rows were worth."""

    @property
    def wants_log_ratio(self) -> bool:
        """Whether it corrects for the policy that acted."""

    def __call__(self, played: Played) -> Estimate:
        """Returns the advantages and value targets of all rows."""


@dataclass(frozen=True, slots=True)
class Gae:
    """Generalized advantage estimation: as if the present policy had acted."""

    wants_log_ratio: ClassVar[bool] = False

    gamma: float
    lambda_: float

    def __call__(self, played: Played) -> Estimate:
        """Returns λ-advantages, and the values plus these as targets."""
        columns = (played.reward.numpy(), played.value.numpy(), played.kind.numpy())
        advantage = torch.from_numpy(gae(*columns, self.gamma, self.lambda_))
        return Estimate(advantage, torch.where(played.kind == RowKind.STEP, advantage + played.value, 0.0))


@dataclass(frozen=True, slots=True)
class VTrace:
    """V-trace: corrected for the policy that acted."""

    wants_log_ratio: ClassVar[bool] = True

    gamma: float
    lambda_: float
    clips: Clips

    def __call__(self, played: Played) -> Estimate:
        """Returns V-trace's advantages and targets.

        Raises:
          ValueError: The log-ratios are missing.
        """
        if played.log_ratio is None:
            raise ValueError("V-trace needs the log-ratio of every row, got none")
        steps = steps_of(played.reward, played.value, played.kind, self.gamma)
        log_rho_tm1 = played.log_ratio[steps.rows, None]
        traced = vtrace(
            steps.r_t, steps.discount_t, steps.v_tm1, steps.v_t, log_rho_tm1, steps.cut_t, self.lambda_, self.clips
        )
        rows = len(played.kind)
        return Estimate(steps.over_rows(traced.advantage, rows), steps.over_rows(traced.target_tm1, rows))
