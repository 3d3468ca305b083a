"""Twin delayed policy gradients (Fujimoto et al., 2018), https://arxiv.org/abs/1802.09477.

DDPG (Lillicrap et al., 2016) is the case of one critic and no noise.
"""

import torch
from torch import Tensor


def smoothed(action: Tensor, low: Tensor, high: Tensor, noise: float, clip: float, draw: torch.Generator) -> Tensor:
    """Returns target actions with clipped noise, [B, …], within their bounds.

    Args:
      action: Actions of the target policy, [B, …].
      low: Smallest actions, broadcast to the actions.
      high: Largest actions, broadcast to the actions.
      noise: Standard deviation, as a share of half the range; 0 adds none.
      clip: Largest noise, in the same unit.
      draw: Generator of the noise.
    """
    if noise == 0:
        return action
    half = (high - low) / 2
    drawn = torch.randn(action.shape, generator=draw, device=draw.device, dtype=action.dtype).to(action.device)
    return torch.minimum(torch.maximum(action + half * (noise * drawn).clamp(-clip, clip), low), high)


def clipped_double_q_target(reward: Tensor, discount: Tensor, q_t: Tensor) -> Tensor:
    """Returns the critics' targets, [B], by the smallest of the critics.

    Args:
      reward: Rewards, [B].
      discount: γ · (1 - terminated), [B].
      q_t: Values of the smoothed target actions by each target critic, [critics, B].
    """
    return (reward + discount * q_t.min(0).values).detach()


def deterministic_policy_loss(q: Tensor, weight: Tensor) -> Tensor:
    """Returns the policy's loss summed over the rows that count.

    Args:
      q: Values of the policy's own actions by the first critic, with a gradient through the actions, [B].
      weight: 1 for rows that count, [B].
    """
    return -(weight * q).sum()
