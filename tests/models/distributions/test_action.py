import numpy as np
import pytest
import torch

from app.models.distributions.action import act, draws_of, kl, log_prob_and_entropy
from app.models.distributions.categorical import Categorical
from app.models.distributions.distribution import Distribution
from app.models.distributions.gaussian import Gaussian
from app.models.distributions.squashed_gaussian import SquashedGaussian
from app.nested import Structure

from .kinds import moderate_inputs

ACTION: Structure[Distribution] = Structure(
    {"move": SquashedGaussian(-1.0, 1.0, (2,)), "use": (Categorical(3), Gaussian())}
)
ROWS = 16


def inputs() -> list[np.ndarray]:
    return [moderate_inputs(leaf, ROWS, seed) for seed, leaf in enumerate(ACTION.leaves)]


def test_a_whole_action_uses_its_draws_leaf_by_leaf() -> None:
    uniforms = np.random.default_rng(0).random((ROWS, 4))
    assert draws_of(ACTION) == 4
    whole = act(ACTION, inputs(), uniforms, [None, None, None])
    parts = [
        leaf.act(given, uniforms[:, columns], None)
        for leaf, given, columns in zip(ACTION.leaves, inputs(), ([0, 1], [2], [3]), strict=True)
    ]
    for got, part in zip(whole.actions, parts, strict=True):
        np.testing.assert_array_equal(got, part.actions)
    np.testing.assert_allclose(whole.log_probs, sum(part.log_probs for part in parts), rtol=1e-6)


def test_what_is_learned_from_is_what_was_acted_on_under_a_mask_at_one_leaf() -> None:
    mask = np.tile([True, False, True], (ROWS, 1))
    whole = act(ACTION, inputs(), np.random.default_rng(0).random((ROWS, 4)), [None, mask, None])
    assert 1 not in whole.actions[1]
    given = [torch.from_numpy(x) for x in inputs()]
    masks = [None, torch.from_numpy(mask), None]
    log_prob, entropy = log_prob_and_entropy(ACTION, given, [torch.from_numpy(x) for x in whole.actions], masks)
    np.testing.assert_allclose(log_prob, whole.log_probs, rtol=1e-5, atol=1e-5)
    parts = zip(ACTION.leaves, given, masks, strict=True)
    torch.testing.assert_close(entropy, sum(leaf.entropy(x, m) for leaf, x, m in parts))


def test_the_divergence_of_whole_actions_is_the_sum() -> None:
    p = [torch.from_numpy(x) for x in inputs()]
    q = [x.flip(0) for x in p]
    expected = sum(leaf.kl(a, b, None) for leaf, a, b in zip(ACTION.leaves, p, q, strict=True))
    torch.testing.assert_close(kl(ACTION, p, q, [None] * 3), expected)


def test_an_action_without_leaves_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one leaf"):
        act(Structure(None), [], np.zeros((1, 0)), [])
