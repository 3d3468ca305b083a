"""Choices by action values: the best one, and now and then any (Watkins, 1989)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np
from numpy.typing import NDArray

from app.models.distributions.categorical import LOG_PROB_MIN, choose
from app.models.distributions.distribution import Acted, Floats, Mask

if TYPE_CHECKING:
    from torch import Tensor

SMALLEST: Final = 1e-12
"""A smaller chance is none: shared among the choices it would leave the range of float32."""


@dataclass(frozen=True, slots=True)
class EpsilonGreedy:
    """One of a number of choices; the network gives a value for each, and the chance of a random one behind them.

    So the chance is part of the weights: it reaches every game with them, wherever the network runs.
    """

    choices: int
    ladder: float = 0.0
    """α of Ape-X (Horgan et al., 2018), https://arxiv.org/abs/1803.00933: a session whose own number is u, in [0, 1),
    plays at random with chance ε^(1 + α u), so that sessions explore unlike each other; 0: all with chance ε."""
    shape: tuple[()] = ()
    dtype: Literal["int64"] = "int64"

    def __post_init__(self) -> None:
        if self.choices < 1 or not self.ladder >= 0:
            raise ValueError(
                f"an epsilon-greedy action needs at least one choice and a ladder of at least 0, "
                f"got {self.choices} and {self.ladder}"
            )

    @property
    def inputs(self) -> int:
        """A value for each choice, and the chance."""
        return self.choices + 1

    @property
    def draws(self) -> int:
        """One, and behind it the session's own number where there is a ladder."""
        return 1 + self.own_draws

    @property
    def own_draws(self) -> int:
        """One where there is a ladder."""
        return int(self.ladder > 0)

    @property
    def explores(self) -> bool:
        """True: randomness serves learning alone."""
        return True

    def act(self, inputs: Floats, uniforms: NDArray[np.float64], mask: Mask | None) -> Acted:
        """Returns actions [B] for values and chance [B, choices + 1]; NaN takes the best one.

        Raises:
          ValueError: A row of the mask allows no choice.
        """
        values, chance = inputs[:, :-1], inputs[:, -1].astype(np.float64).clip(0, 1)
        if self.ladder:
            chance = chance ** (1 + self.ladder * np.nan_to_num(uniforms[:, 1]))
        chance = np.where(chance < SMALLEST, 0.0, chance)
        allowed = np.ones(values.shape, bool) if mask is None else mask
        if not allowed.any(axis=1).all():
            raise ValueError("an action mask must allow at least one action in each row")
        best = np.where(allowed, values, -np.inf).argmax(axis=1)
        rows = np.arange(len(values))
        probs = np.where(allowed, (chance / allowed.sum(axis=1))[:, None], 0.0)
        probs[rows, best] += 1 - chance
        with np.errstate(divide="ignore"):
            log_probs = np.log(probs).astype(np.float32)
        greedy = np.isnan(uniforms[:, 0])
        actions = np.where(greedy, best, choose(log_probs, uniforms[:, 0]))
        # Values that are no numbers say nothing; who asked finds that by the log-probability.
        found = np.where(np.isfinite(np.where(allowed, values, 0)).all(axis=1), log_probs[rows, actions], np.nan)
        return Acted(actions, found.astype(np.float32))

    def tempered(self, inputs: Floats, temperatures: Floats) -> Floats:
        """Returns the inputs as they are: a random choice has its own chance, and values are no logits."""
        return inputs

    def log_prob(self, inputs: "Tensor", action: "Tensor", mask: "Tensor | None") -> "Tensor":
        """Returns the log-probability of each action, [B], at the chance of a session without a ladder."""
        return self._log_probs(inputs, mask).gather(1, action[:, None]).squeeze(1)

    def entropy(self, inputs: "Tensor", mask: "Tensor | None") -> "Tensor":
        """Returns the entropy in nats, [B]."""
        log_probs = self._log_probs(inputs, mask)
        return -(log_probs.exp() * log_probs).sum(-1)

    def kl(self, inputs_p: "Tensor", inputs_q: "Tensor", mask: "Tensor | None") -> "Tensor":
        """Returns KL(p ‖ q) in nats, [B], under one mask."""
        log_p, log_q = self._log_probs(inputs_p, mask), self._log_probs(inputs_q, mask)
        return (log_p.exp() * (log_p - log_q)).sum(-1)

    def _log_probs(self, inputs: "Tensor", mask: "Tensor | None") -> "Tensor":
        import torch  # noqa: PLC0415  # Acting needs none.

        values, chance = inputs[:, :-1], inputs[:, -1:].clamp(0, 1)
        chance = torch.where(chance < SMALLEST, 0.0, chance)
        allowed = values.new_ones(values.shape) if mask is None else mask.to(values.dtype)
        best = values.masked_fill(allowed == 0, -float("inf")).argmax(-1, keepdim=True)
        probs = (allowed * chance / allowed.sum(-1, keepdim=True)).scatter_add(1, best, 1 - chance)
        # Not by a clamp of the logarithm: its gradient at 0 is infinite.
        return torch.where(probs > 0, probs.clamp(min=SMALLEST**2).log(), LOG_PROB_MIN)
