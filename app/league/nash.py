"""Nash equilibria of two-player zero-sum matrix games, by linear programming (von Neumann, 1928; Dantzig, 1951)."""

import numpy as np
from numpy.typing import NDArray

from app.errors import SparringError


def zero_sum_equilibrium(payoff: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Returns the row player's equilibrium strategy, [N], and the value of the game to it.

    Maximises v subject to Σ_i x_i · payoff[i, j] ≥ v for every column j, with x a distribution.

    Args:
      payoff: What the row player wins, [N, M].

    Raises:
      ValueError: The matrix is empty or holds numbers that are not finite.
      SparringError: The solver finds no solution.
    """
    if payoff.ndim != 2 or not payoff.size or not np.isfinite(payoff).all():  # noqa: PLR2004  # A matrix.
        raise ValueError(f"an equilibrium needs a matrix of finite numbers, got shape {payoff.shape}")
    from scipy.optimize import linprog  # noqa: PLC0415  # Half a second, which most processes never need.

    rows, columns = payoff.shape
    solved = linprog(
        c=np.append(np.zeros(rows), -1.0),
        A_ub=np.column_stack([-payoff.T, np.ones(columns)]),
        b_ub=np.zeros(columns),
        A_eq=np.append(np.ones(rows), 0.0)[None],
        b_eq=[1.0],
        bounds=[(0, None)] * rows + [(None, None)],
        method="highs",
    )
    if not solved.success:
        raise SparringError(f"no equilibrium of the {rows} x {columns} game was found: {solved.message}")
    strategy = np.clip(solved.x[:-1], 0, None)
    return strategy / strategy.sum(), float(solved.x[-1])
