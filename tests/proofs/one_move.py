"""Games of one move as game cores see them: both sides move at once, and the matrix says who wins what."""

from collections.abc import Mapping
from typing import cast

import numpy as np
from numpy.typing import NDArray

from app.client.multi_agent import Due, Left

from .duels import SEATS
from .matrix_game import Strategy
from .players import Network

NOTHING = np.ones(1, np.float32)
"""What there is to see."""


class OneMove:
    """A ``MultiAgentEnvironment`` for the first seat's gains, [N, N]."""

    def __init__(self, payoff: NDArray[np.float64]) -> None:
        self._payoff = payoff
        self._due: dict[str, Due] = {}
        self._left: dict[str, Left] = {}

    def restart(self, seed: int) -> None:
        """Begins a game; nothing in it is random."""
        self._due = dict.fromkeys(SEATS, Due(NOTHING, None, 0.0))

    def due(self) -> Mapping[str, Due]:
        """Returns both seats until they have moved."""
        return self._due

    def left(self) -> Mapping[str, Left]:
        """Returns both seats once they have moved."""
        left, self._left = self._left, {}
        return left

    def act(self, actions: Mapping[str, object]) -> None:
        """Ends the game."""
        first, second = (cast("int", actions[seat]) for seat in SEATS)
        gain = float(self._payoff[first, second])
        self._left = {seat: Left(NOTHING, sign * gain, True, False) for seat, sign in zip(SEATS, (1, -1), strict=True)}
        self._due = {}


def strategy_of(network: Network) -> Strategy:
    """Returns how probable each move is to a network, [N]."""
    logits = network.logits(NOTHING[None])[0].astype(np.float64)
    shares: Strategy = np.exp(logits - logits.max())
    return shares / shares.sum()
