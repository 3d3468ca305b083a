"""How much critics believe in what nobody did: CQL(H) (Kumar et al., 2020), https://arxiv.org/abs/2006.04779."""

from dataclasses import dataclass

import torch
from torch import Tensor

from app.algorithms.critic_networks import CriticNetworks, Part
from app.algorithms.imitation import soft_maximum
from app.algorithms.sampled_actions import even_actions, sampled_actions


@dataclass(frozen=True, slots=True)
class Conservatism:
    """Lowers the values of all actions, and raises those of the recorded ones."""

    coef: float
    """Weight of the excess."""
    actions: int
    """Of real numbers: how many stand for all, of the policy and as many that are drawn evenly."""

    def excess(
        self, networks: CriticNetworks, part: Part, dist_inputs: list[Tensor], q: Tensor, draw: torch.Generator
    ) -> Tensor:
        """Returns by how much the soft maximum over all actions exceeds the recorded one, [critics, B].

        Args:
          networks: Policy and critics; the gradient reaches the critics alone.
          part: The transitions.
          dist_inputs: What the policy says to them, by leaves, each [B, …].
          q: Values of the recorded actions by each critic, [critics, B].
          draw: Draws the actions.
        """
        if networks.kind == "choices":
            values, mask = networks.choices(part.observation), part.mask[0]
            allowed = values if mask is None else values.masked_fill(~mask, torch.finfo(values.dtype).min)
            return allowed.logsumexp(-1) - q
        with torch.no_grad():
            copies = [leaf.repeat(self.actions, *[1] * (leaf.ndim - 1)) for leaf in dist_inputs]
            drawn = sampled_actions(networks.spec, copies, draw), even_actions(networks.spec, copies[0], draw)
        actions = [torch.cat(leaves) for leaves in zip(*(one.actions for one in drawn), strict=True)]
        shape = (2 * self.actions, len(part.weight))
        density = torch.cat([one.log_prob for one in drawn]).reshape(shape)
        seen = [leaf.repeat(2 * self.actions, *[1] * (leaf.ndim - 1)) for leaf in part.observation]
        values = networks.values(seen, actions).reshape(len(q), *shape)
        return soft_maximum(values, density) - q
