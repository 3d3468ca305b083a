"""One of each kind of distribution, for tests that all of them pass."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.models.distributions.categorical import Categorical
from app.models.distributions.distribution import Distribution
from app.models.distributions.epsilon_greedy import EpsilonGreedy
from app.models.distributions.gaussian import Gaussian
from app.models.distributions.squashed_gaussian import SquashedGaussian

KINDS: Final[dict[str, Distribution]] = {
    "one choice": Categorical(1),
    "choices": Categorical(5),
    "values of choices": EpsilonGreedy(4),
    "number": Gaussian(),
    "numbers": Gaussian((2, 3)),
    "number in bounds": SquashedGaussian(-1.0, 1.0),
    "numbers in bounds": SquashedGaussian((0.0, -200.0), (0.1, 1000.0), (2,)),
}


def moderate_inputs(kind: Distribution, rows: int, seed: int = 0) -> NDArray[np.float32]:
    """Returns what an ordinary network would give."""
    inputs = np.random.default_rng(seed).normal(0, 0.8, (rows, kind.inputs)).astype(np.float32)
    if isinstance(kind, EpsilonGreedy):
        inputs[:, -1] = 1 / (1 + np.exp(-inputs[:, -1]))  # A chance.
    return inputs


def uniforms_of(kind: Distribution, rows: int, seed: int = 1) -> NDArray[np.float64]:
    return np.random.default_rng(seed).random((rows, kind.draws))
