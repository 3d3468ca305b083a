"""How far two distributions are apart, by the shares of their bins."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def quantile_edges(values: Floats, bins: int) -> Floats:
    """Returns the inner edges of bins that hold equal shares of the values, [at most bins + 1], each one once.

    Two more bins hold what is below the smallest and above the largest value. A value that fills several bins leaves
    fewer of them: it is an edge, and belongs to the bin that ends there.
    """
    inner = np.quantile(values, np.arange(1, bins) / bins, method="inverted_cdf")
    edges: Floats = np.unique([np.nextafter(values.min(), -np.inf), *inner, values.max()])
    return edges


def bin_counts(values: Floats, edges: Floats) -> Floats:
    """Returns how many values each bin holds, [edges + 1]; a bin holds its upper edge."""
    counts: Floats = np.bincount(np.searchsorted(edges, values, side="left"), minlength=len(edges) + 1).astype(float)
    return counts


def population_stability_index(reference: Floats, counts: Floats) -> float:
    """Returns the population stability index of two histograms over the same bins.

    It is sum((q - p) ln(q / p)), the symmetric Kullback-Leibler divergence of the two sets of shares (Siddiqi 2006,
    Credit Risk Scorecards; the symmetric divergence is Jeffreys 1946). Each bin counts half a value more, so that an
    empty one is not infinitely far away.
    """
    p = (reference + 0.5) / (reference + 0.5).sum()
    q = (counts + 0.5) / (counts + 0.5).sum()
    return float(((q - p) * np.log(q / p)).sum())


def kolmogorov_smirnov(reference: Floats, counts: Floats) -> float:
    """Returns the largest distance of two cumulative distributions at the edges of their bins.

    It is the two-sample statistic of Smirnov 1939 over binned values: at most that over the values themselves, and
    with bins of equal shares less by at most one bin's share.
    """
    return float(np.abs(np.cumsum(reference) / reference.sum() - np.cumsum(counts) / counts.sum()).max())
