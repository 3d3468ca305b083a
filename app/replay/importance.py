"""Weights that undo the bias of sampling some rows more often (Schaul et al., 2016, arXiv:1511.05952)."""

import numpy as np
from numpy.typing import NDArray


def importance_weights(probabilities: NDArray[np.float64], table_rows: int, beta: float) -> NDArray[np.float32]:
    """Returns (N · P(i))^-β over the largest of them, [N]: the row that is rarest in this batch has weight 1.

    Args:
      probabilities: Chance of each row of a batch in one draw, [N].
      table_rows: Rows that the table held at the draw: N of the formula.
      beta: 0 leaves the bias, 1 undoes all of it.

    Raises:
      ValueError: A probability is outside (0, 1], ``table_rows`` < 1 or ``beta`` is outside [0, 1].
    """
    if not np.all((probabilities > 0) & (probabilities <= 1)):
        raise ValueError(f"importance weights need probabilities in (0, 1], got {probabilities}")
    if table_rows < 1 or not 0 <= beta <= 1:
        raise ValueError(f"importance weights need table_rows >= 1 and beta in [0, 1], got {table_rows} and {beta}")
    if not probabilities.size:
        return np.zeros(0, np.float32)
    weights: NDArray[np.float64] = (table_rows * probabilities) ** -beta
    normalised: NDArray[np.float32] = (weights / weights.max()).astype(np.float32)
    return normalised
