"""Symmetric zero-sum games of one move, solved exactly: who plays one is a distribution over its moves."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

Strategy = NDArray[np.float64]
"""How probable each move is, [N]."""

ROCK_PAPER_SCISSORS: Final = np.array([[0.0, -1, 1], [1, 0, -1], [-1, 1, 0]])
ROCK_COUNTS_TWICE: Final = np.array([[0.0, -1, 2], [1, 0, -1], [-2, 1, 0]])
"""Rock wins two from scissors. Its equilibrium is (1/4, 1/2, 1/4): λ = A x with x ∝ (1, 2, 1) is 0."""


class MatrixGame:
    """What the row's move wins from the column's."""

    def __init__(self, payoff: NDArray[np.float64]) -> None:
        """Keeps an antisymmetric matrix, [N, N]."""
        self._payoff, self._largest = payoff, float(np.abs(payoff).max())

    def first(self) -> Strategy:
        """Returns who always makes the first move."""
        return np.eye(len(self._payoff))[0]

    def mixed(self, players: Sequence[Strategy], weights: NDArray[np.float64]) -> Strategy:
        """Returns who plays like one of the players, drawn with the weights."""
        return weights @ np.stack(players)

    def best_response(self, player: Strategy) -> Strategy:
        """Returns the move that wins most."""
        return np.eye(len(self._payoff))[int(np.argmax(self._payoff @ player))]

    def scores(self, player: Strategy, others: Sequence[Strategy]) -> NDArray[np.float64]:
        """Returns the expected scores of matches, in [0, 1], [N]; 0.5 against equals."""
        return 0.5 + np.stack(others) @ (player @ self._payoff) / (2 * self._largest)

    def exploitability(self, player: Strategy) -> float:
        """Returns what the best response wins; 0 in an equilibrium alone."""
        return float((self._payoff @ player).max())
