"""Evolution strategies: ranks, the estimate and the update, by hand, by property, and against scipy."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import rankdata
from torch import nn

from app.algorithms.evolution import Pair, centred_ranks, gradient, noise, surrogate, update
from app.algorithms.stepper import GradientStepper, StepSettings
from app.errors import NonFiniteLossError

RETURNS = st.lists(st.integers(-50, 50).map(float), min_size=2, max_size=20)
PAIRS = st.lists(st.tuples(st.integers(0, 99), st.integers(-9, 9), st.integers(-9, 9)), min_size=1, max_size=6).map(
    lambda found: [Pair(seed, float(plus), float(minus)) for seed, plus, minus in found]
)
SIZE = 5


def floats(*values: float) -> NDArray[np.float64]:
    return np.array(values)


def test_ranks_go_from_minus_a_half_to_a_half() -> None:
    np.testing.assert_allclose(centred_ranks(floats(7, -3, 100, 9)), [-1 / 6, -0.5, 0.5, 1 / 6])


def test_equal_returns_share_the_mean_of_their_ranks() -> None:
    # Ranks 0, 1, 2, 3: the two in the middle share 1.5; 1.5 / 3 - 0.5 = 0.
    np.testing.assert_allclose(centred_ranks(floats(5, 1, 5, 8)), [0, -0.5, 0, 0.5])
    np.testing.assert_array_equal(centred_ranks(floats(500, 500, 500)), [0, 0, 0])


@given(RETURNS)
def test_ranks_are_those_of_scipy(returns: list[float]) -> None:
    found = centred_ranks(np.array(returns))
    np.testing.assert_allclose(found, (rankdata(returns) - 1) / (len(returns) - 1) - 0.5)
    assert found.sum() == pytest.approx(0, abs=1e-9)


@given(RETURNS)
def test_ranks_do_not_change_under_a_monotone_transform(returns: list[float]) -> None:
    x = np.array(returns)
    np.testing.assert_array_equal(centred_ranks(x), centred_ranks(np.exp(x / 10)))
    np.testing.assert_array_equal(centred_ranks(x), centred_ranks(3 * x**3 - 7))


@given(RETURNS)
def test_ranks_change_their_sign_with_the_returns(returns: list[float]) -> None:
    np.testing.assert_allclose(centred_ranks(-np.array(returns)), -centred_ranks(np.array(returns)), atol=1e-12)


@pytest.mark.parametrize("wrong", [floats(), floats(1), floats(1, np.nan), floats(1, np.inf), np.zeros((2, 2))])
def test_returns_that_have_no_ranks_are_refused(wrong: NDArray[np.float64]) -> None:
    with pytest.raises(ValueError, match="ranks need at least 2 finite returns, got"):
        centred_ranks(wrong)


def test_a_seed_stands_for_the_same_noise_everywhere() -> None:
    # Drawn by numpy 2 in another process: another stream would make other candidates out of the same seeds.
    np.testing.assert_allclose(noise(0, 3), [1.117622, -1.3871249, -0.4265716], rtol=1e-6)
    assert noise(1, 3).dtype == np.float32
    assert not np.allclose(noise(1, 3), noise(2, 3))


def test_the_gradient_of_one_pair_is_its_noise_over_twice_sigma() -> None:
    # Ranks 0.5 and -0.5: 1 / (2 · 1 · σ) · (0.5 + 0.5) · ε.
    np.testing.assert_allclose(gradient([Pair(3, 9, 1)], 0.25, SIZE), 2 * noise(3, SIZE), rtol=1e-6)
    np.testing.assert_allclose(gradient([Pair(3, 1, 9)], 0.25, SIZE), -2 * noise(3, SIZE), rtol=1e-6)


def test_the_gradient_of_two_pairs_weighs_their_noise_by_differences_of_ranks() -> None:
    # Returns 4, 1 and 2, 3 have the ranks 1/2, -1/2 and -1/6, 1/6: 1 / (2 · 2 · σ) · (1 · ε₁ - 1/3 · ε₂).
    wanted = (noise(1, SIZE) - noise(2, SIZE) / 3) / (4 * 0.5)
    np.testing.assert_allclose(gradient([Pair(1, 4, 1), Pair(2, 2, 3)], 0.5, SIZE), wanted, rtol=1e-5)


@given(PAIRS)
def test_the_noise_of_a_population_has_mean_zero_so_equal_returns_teach_nothing(pairs: list[Pair]) -> None:
    level = [Pair(pair.seed, pair.return_plus, pair.return_plus) for pair in pairs]
    np.testing.assert_array_equal(gradient(level, 0.1, SIZE), np.zeros(SIZE))


@given(PAIRS)
def test_the_gradient_changes_its_sign_with_the_returns_and_where_the_sides_are_exchanged(pairs: list[Pair]) -> None:
    found = gradient(pairs, 0.1, SIZE)
    negated = [Pair(pair.seed, -pair.return_plus, -pair.return_minus) for pair in pairs]
    exchanged = [Pair(pair.seed, pair.return_minus, pair.return_plus) for pair in pairs]
    np.testing.assert_allclose(gradient(negated, 0.1, SIZE), -found, atol=1e-5)
    np.testing.assert_allclose(gradient(exchanged, 0.1, SIZE), -found, atol=1e-5)


@given(PAIRS)
def test_the_gradient_does_not_change_under_a_monotone_transform_of_the_returns(pairs: list[Pair]) -> None:
    bent = [Pair(pair.seed, np.exp(pair.return_plus), np.exp(pair.return_minus)) for pair in pairs]
    np.testing.assert_array_equal(gradient(bent, 0.1, SIZE), gradient(pairs, 0.1, SIZE))


@pytest.mark.parametrize(("pairs", "sigma"), [([], 0.1), ([Pair(0, 1, 2)], 0.0), ([Pair(0, 1, 2)], float("nan"))])
def test_a_gradient_without_pairs_or_sigma_is_refused(pairs: list[Pair], sigma: float) -> None:
    with pytest.raises(ValueError, match="a gradient needs a pair and a positive sigma, got"):
        gradient(pairs, sigma, SIZE)


def test_the_surrogate_leads_uphill_and_back_to_zero() -> None:
    weights = torch.tensor([2.0, -4.0], requires_grad=True)
    loss = surrogate(weights, torch.tensor([1.0, 10.0]), weight_decay=0.5)
    loss.backward()  # type: ignore[no-untyped-call]
    torch.testing.assert_close(weights.grad, torch.tensor([0.0, -12.0]))  # -1 + 0.5 · 2, -10 - 0.5 · 4.


def test_an_update_of_sgd_by_hand() -> None:
    module, stepper = line(0.0, 0.0, learning_rate=0.1)
    found = update(stepper, list(module.parameters()), [Pair(3, 9, 1)], sigma=0.5, weight_decay=0.0)
    ascent = noise(3, 2)  # 1 / (2 · 0.5) · ε.
    np.testing.assert_allclose(weights_of(module), 0.1 * ascent, rtol=1e-6)
    assert found == {"grad_norm": pytest.approx(float(np.linalg.norm(ascent))), "weights_norm": 0.0}


def test_weight_decay_alone_shrinks_the_weights() -> None:
    module, stepper = line(2.0, -4.0, learning_rate=0.1)
    update(stepper, list(module.parameters()), [Pair(3, 1, 1)], sigma=0.5, weight_decay=0.5)
    np.testing.assert_allclose(weights_of(module), [1.9, -3.8], rtol=1e-6)  # w - 0.1 · 0.5 · w.


def test_weights_without_a_finite_norm_are_told_and_stay() -> None:
    module, stepper = line(float("inf"), 1.0, learning_rate=0.1)
    with pytest.raises(NonFiniteLossError, match="the gradient norm is"):
        update(stepper, list(module.parameters()), [Pair(3, 2, 1)], sigma=0.5, weight_decay=0.5)
    assert weights_of(module)[1] == 1.0


@pytest.mark.parametrize("optimizer", [torch.optim.Adam, torch.optim.SGD])
def test_it_finds_the_optimum_of_a_quadratic(optimizer: type[torch.optim.Adam | torch.optim.SGD]) -> None:
    module = nn.Linear(4, 1, bias=False)
    nn.init.zeros_(module.weight)
    stepper = GradientStepper(module, optimizer(module.parameters(), lr=0.02), StepSettings())
    optimum = np.array([1.0, -2.0, 0.5, 3.0])

    def quadratic(weights: NDArray[np.float32]) -> float:
        return -float(np.sum((weights - optimum) ** 2))

    for number in range(400):
        here, seeds = weights_of(module), range(8 * number, 8 * number + 8)
        moves = {seed: 0.05 * noise(seed, 4) for seed in seeds}
        pairs = [Pair(seed, quadratic(here + move), quadratic(here - move)) for seed, move in moves.items()]
        update(stepper, list(module.parameters()), pairs, sigma=0.05, weight_decay=0.0)
    np.testing.assert_allclose(weights_of(module), optimum, atol=0.25)


def line(first: float, second: float, learning_rate: float) -> tuple[nn.Linear, GradientStepper]:
    """Returns a network of two weights, and SGD."""
    module = nn.Linear(2, 1, bias=False)
    with torch.no_grad():
        module.weight.copy_(torch.tensor([[first, second]]))
    return module, GradientStepper(module, torch.optim.SGD(module.parameters(), lr=learning_rate), StepSettings())


def weights_of(module: nn.Linear) -> NDArray[np.float32]:
    return module.weight.detach().numpy().reshape(-1).copy()
