"""What every kind of action distribution can do; one object describes one leaf of an action."""

from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from torch import Tensor

Floats = NDArray[np.float32]
Mask = NDArray[np.bool_]


class Acted(NamedTuple):
    """Actions and their log-probabilities."""

    actions: NDArray[np.generic]
    """[B, …], of the distribution's shape and dtype."""
    log_probs: Floats
    """[B]; of the density where the action is continuous."""


class Distribution(Protocol):
    """One leaf of an action: its shape, what the network gives for it, and the maths of both."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one action."""

    @property
    def dtype(self) -> str:
        """Numpy name of an action's dtype."""

    @property
    def inputs(self) -> int:
        """Numbers that the network gives for one action."""

    @property
    def draws(self) -> int:
        """Uniform numbers in [0, 1) that one action is made of."""

    @property
    def own_draws(self) -> int:
        """How many of these, the last ones, are the session's own: the same at each of its ticks."""

    @property
    def explores(self) -> bool:
        """Whether it is random for the sake of learning alone: games that nobody learns from take the best action."""

    @property
    def choices(self) -> int:
        """Flags of a mask; 0 where none is possible."""

    def act(self, inputs: Floats, uniforms: NDArray[np.float64], mask: Mask | None) -> Acted:
        """Returns actions for inputs [B, inputs], from uniform numbers [B, draws].

        Args:
          inputs: What the network gave.
          uniforms: A row of NaN takes the most probable action.
          mask: Allowed choices, [B, choices]; None allows all. A choice that is not allowed has probability 0.
        """

    def tempered(self, inputs: Floats, temperatures: Floats) -> Floats:
        """Returns the inputs [B, inputs] of the same distributions at temperatures [B, 1].

        At temperature T a probability is in proportion to itself to the power of 1 / T: below 1 the likely actions
        become likelier, above 1 all become alike.
        """

    def log_prob(self, inputs: "Tensor", action: "Tensor", mask: "Tensor | None") -> "Tensor":
        """Returns the log-probability of each action, [B]."""

    def entropy(self, inputs: "Tensor", mask: "Tensor | None") -> "Tensor":
        """Returns the entropy, [B]; an estimate where there is no closed form."""

    def kl(self, inputs_p: "Tensor", inputs_q: "Tensor", mask: "Tensor | None") -> "Tensor":
        """Returns KL(p ‖ q), how far the distribution q is from p, [B]."""


class OwnRandomness:
    """What distributions share whose randomness is the policy's own."""

    __slots__ = ()

    @property
    def own_draws(self) -> int:
        """None."""
        return 0

    @property
    def explores(self) -> bool:
        """False: its randomness is the policy's."""
        return False
