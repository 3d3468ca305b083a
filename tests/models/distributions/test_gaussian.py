import math

import numpy as np
import pytest
import scipy.stats
import torch

from app.models.distributions.gaussian import LOG_STD_MAX, LOG_STD_MIN, Gaussian

SAMPLES = 20_000


def repeated(*inputs: float, rows: int = SAMPLES) -> np.ndarray:
    return np.tile(np.array(inputs, np.float32), (rows, 1))


@pytest.mark.parametrize(("mean", "std"), [(0.0, 1.0), (3.0, 0.25), (-50.0, 4.0)])
def test_samples_follow_the_distribution(mean: float, std: float) -> None:
    uniforms = np.random.default_rng(0).random((SAMPLES, 1))
    actions = Gaussian().act(repeated(mean, math.log(std)), uniforms, None).actions
    assert scipy.stats.kstest(actions, scipy.stats.norm(mean, std).cdf).pvalue > 0.01


def test_each_number_has_its_own_mean_deviation_and_draw() -> None:
    kind = Gaussian((2,))
    inputs = np.array([[10.0, 20.0, math.log(1.0), math.log(2.0)]], np.float32)
    actions = kind.act(inputs, np.array([[0.5, scipy.stats.norm.cdf(1.5)]]), None).actions
    np.testing.assert_allclose(actions, [[10.0, 23.0]], rtol=1e-6)


def test_the_log_probability_is_that_of_torch_and_scipy() -> None:
    rng = np.random.default_rng(0)
    inputs = rng.normal(0, 1, (32, 6)).astype(np.float32)
    acted = Gaussian((3,)).act(inputs, rng.random((32, 3)), None)
    mean, std = inputs[:, :3].astype(float), np.exp(inputs[:, 3:].astype(float))
    expected = scipy.stats.norm(mean, std).logpdf(acted.actions).sum(1)
    np.testing.assert_allclose(acted.log_probs, expected, rtol=1e-5, atol=1e-5)
    oracle = torch.distributions.Normal(torch.from_numpy(mean), torch.from_numpy(std))
    inputs_t = torch.from_numpy(inputs)
    torch.testing.assert_close(Gaussian((3,)).entropy(inputs_t, None).double(), oracle.entropy().sum(1))
    learned = Gaussian((3,)).log_prob(inputs_t, torch.from_numpy(acted.actions), None).double()
    torch.testing.assert_close(learned, oracle.log_prob(torch.from_numpy(acted.actions)).sum(1), rtol=1e-4, atol=1e-4)


def test_the_divergence_is_that_of_torch() -> None:
    rng = np.random.default_rng(0)
    p, q = (torch.from_numpy(rng.normal(0, 1, (32, 6))) for _ in range(2))
    oracles = [torch.distributions.Normal(x[:, :3], x[:, 3:].exp()) for x in (p, q)]
    expected = torch.distributions.kl_divergence(*oracles).sum(1)
    torch.testing.assert_close(Gaussian((3,)).kl(p, q, None), expected)


@pytest.mark.parametrize(("given", "used"), [(-1e9, LOG_STD_MIN), (1e9, LOG_STD_MAX)])
def test_deviations_are_clamped(given: float, used: float) -> None:
    entropy = Gaussian().entropy(torch.tensor([[0.0, given]]), None)
    assert entropy.item() == pytest.approx(used + 0.5 * math.log(2 * math.pi * math.e))


@pytest.mark.parametrize("temperature", [0.25, 4.0])
def test_a_temperature_multiplies_the_variance(temperature: float) -> None:
    tempered = Gaussian().tempered(repeated(3.0, math.log(2.0)), np.full((SAMPLES, 1), temperature, np.float32))
    actions = Gaussian().act(tempered, np.random.default_rng(0).random((SAMPLES, 1)), None).actions
    assert scipy.stats.kstest(actions, scipy.stats.norm(3.0, 2.0 * math.sqrt(temperature)).cdf).pvalue > 0.01


@pytest.mark.parametrize("uniform", [0.0, 1 - 2.0**-53])
def test_the_edges_of_the_draws_are_far_and_finite(uniform: float) -> None:
    (action,) = Gaussian().act(repeated(0, 0, rows=1), np.array([[uniform]]), None).actions
    assert 8 < abs(action) < 9
