"""Targets of critics that follow a trajectory for as long as the present policy would have acted so."""

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from app.algorithms.batch_columns import Batch
from app.algorithms.critic_networks import CriticNetworks, Part
from app.algorithms.retrace import retrace_targets
from app.models.distributions.action import log_prob


class ValuesStates(Protocol):
    """What a rule thinks of the states reached."""

    def value_t(self, networks: CriticNetworks, part: Part, draw: torch.Generator) -> Tensor:
        """Returns their values under the present policy and the slow critics, [B]."""


@dataclass(frozen=True, slots=True)
class Retrace:
    """Retrace(λ) (Munos et al., 2016), with the smallest of the slow critics; see ``app.algorithms.retrace``."""

    rule: ValuesStates
    """Values the states reached, such as with the entropy of the soft actor-critic."""
    lambda_: float
    """Decay of the trace; 0 looks one step ahead."""

    @torch.no_grad()
    def targets(self, networks: CriticNetworks, steps: Batch, cut_t: Tensor, draw: torch.Generator) -> Tensor:
        """Returns the critics' targets, [N].

        Args:
          networks: Policy and slow critics.
          steps: Single steps in time order, columns of ``app.replay.n_step``, [N, …], with the ``log_prob`` of the
            policy that acted.
          cut_t: 1 where the next step belongs to another trajectory, [N].
          draw: Draws all that is random.
        """
        part = networks.part(steps, torch.arange(len(cut_t), device=cut_t.device))
        dist_inputs, _ = networks.policy(part.observation)
        log_rho_tm1 = log_prob(networks.spec.actions, dist_inputs, part.action, part.mask) - steps["log_prob"]
        q_tm1 = networks.target_values(part.observation, part.action).min(0).values
        v_t = self.rule.value_t(networks, part, draw)
        r_t, discount_t, q_tm1, v_t, log_rho_tm1, cut_t = (
            x[:, None] for x in (part.reward, part.discount, q_tm1, v_t, log_rho_tm1, cut_t)
        )
        return retrace_targets(r_t, discount_t, q_tm1, v_t, log_rho_tm1, cut_t, self.lambda_)[:, 0]
