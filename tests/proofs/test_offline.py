"""Of games of an expert and of somebody who wanders, values learn to follow the expert; cloning follows both."""

from functools import cache

import numpy as np
import pytest

from app.types import Rows

from .conftest import Tell
from .experts import Wanders, balances, recorded
from .learning import Proof
from .teaching import spec_in, taught

pytestmark = [pytest.mark.proof, pytest.mark.fast_proof, pytest.mark.timeout(900)]
OPTIMIZER_STEPS = 1500


def mixed(config: str) -> Rows:
    """Returns the rows of 2 expert games and of 200 others, which are three times as many."""
    spec = spec_in(config)
    expert, returns = recorded(spec, balances, 2, seed=1)
    other, short = recorded(spec, Wanders(seed=0), 200, seed=2)
    assert np.mean(returns) >= 475
    assert np.mean(short) < 20
    return {name: np.concatenate([expert[name], other[name]]) for name in expert}


@cache
def cloned() -> Proof:
    """Returns what behaviour cloning makes of these rows."""
    return taught("imitation.yaml", mixed("imitation.yaml"), OPTIMIZER_STEPS)


@pytest.mark.parametrize("config", ["cql.yaml", "iql.yaml"])
def test_learning_from_values_is_better_than_cloning_the_same_rows(told: Tell, config: str) -> None:
    told(cloned())
    proof = told(taught(config, mixed(config), OPTIMIZER_STEPS))
    assert proof.mean_return >= 2 * cloned().mean_return, (proof.line(), cloned().line())
    assert proof.mean_return >= 150, proof.line()
