"""What AlphaZero learns from (Silver et al., 2018), https://doi.org/10.1126/science.aar6404.

The loss is (z - v)² - πᵀ log p: the cross-entropy from a search's visits to the policy, and the squared error of the
value. So it is that of behaviour cloning with the expected log-probability in place of one action's.
"""

import math

from torch import Tensor

from app.models.distributions.categorical import LOG_PROB_MIN


def expected_log_prob(logits: Tensor, target: Tensor, mask: Tensor | None) -> Tensor:
    """Returns πᵀ log p, [B]; 0 where the target is 0 throughout.

    Args:
      logits: Of the policy, [B, A].
      target: π: how probable each choice ought to be, [B, A].
      mask: False where a choice was not allowed, bool [B, A]; None allows all.

    Raises:
      ValueError: The shapes differ.
    """
    if logits.shape != target.shape:
        raise ValueError(
            f"logits are {tuple(logits.shape)} and the target {tuple(target.shape)}; allowed are equal ones"
        )
    allowed = logits if mask is None else logits.masked_fill(~mask, -math.inf)
    return (target * allowed.log_softmax(-1).clamp(min=LOG_PROB_MIN)).sum(-1)
