import math

import numpy as np
import pytest
import scipy.stats
import torch

from app.models.distributions.squashed_gaussian import Bound, SquashedGaussian

SAMPLES = 20_000


def oracle(inputs: torch.Tensor, low: float, high: float) -> torch.distributions.Distribution:
    mean, log_std = inputs.double().chunk(2, dim=-1)
    return torch.distributions.TransformedDistribution(
        torch.distributions.Normal(mean, log_std.exp()),
        [
            torch.distributions.TanhTransform(),
            torch.distributions.AffineTransform((low + high) / 2, (high - low) / 2),
        ],
    )


@pytest.mark.parametrize(("mean", "std", "low", "high"), [(0.0, 1.0, -1.0, 1.0), (1.0, 0.3, 5.0, 8.0)])
def test_samples_follow_the_distribution(mean: float, std: float, low: float, high: float) -> None:
    inputs = np.tile(np.array([mean, math.log(std)], np.float32), (SAMPLES, 1))
    uniforms = np.random.default_rng(0).random((SAMPLES, 1))
    actions = SquashedGaussian(low, high).act(inputs, uniforms, None).actions.astype(float)

    def distribution(action: np.ndarray) -> np.ndarray:
        x = np.arctanh((action - low) / (high - low) * 2 - 1)
        found: np.ndarray = scipy.stats.norm(mean, std).cdf(x)
        return found

    assert scipy.stats.kstest(actions, distribution).pvalue > 0.01


def test_the_log_probability_is_that_of_torch() -> None:
    rng = np.random.default_rng(0)
    inputs = torch.from_numpy(rng.normal(0, 1, (64, 6)).astype(np.float32))
    kind = SquashedGaussian(-2.0, 6.0, (3,))
    acted = kind.act(inputs.numpy(), rng.random((64, 3)), None)
    expected = oracle(inputs, -2.0, 6.0).log_prob(torch.from_numpy(acted.actions).double()).sum(1)
    inside = torch.isfinite(expected).numpy()  # At a bound torch's own is NaN.
    assert inside.sum() > 55
    np.testing.assert_allclose(acted.log_probs[inside], expected[inside], rtol=1e-4, atol=1e-4)
    assert np.isfinite(acted.log_probs).all()


def test_the_density_has_an_area_of_1() -> None:
    grid = torch.linspace(-1, 1, 200_001)[1:-1]
    inputs = torch.tensor([[0.4, math.log(0.7)]]).expand(len(grid), 2)
    density = SquashedGaussian(-1.0, 1.0).log_prob(inputs, grid, None).double().exp()
    assert density.sum().item() * 1e-5 == pytest.approx(1, abs=1e-4)


def test_actions_stay_inside_bounds_that_float32_cannot_hold() -> None:
    kind = SquashedGaussian(-0.1, 0.1)
    inputs = np.array([[50.0, 0.0], [-50.0, 0.0]], np.float32)
    highest, lowest = kind.act(inputs, np.full((2, 1), 0.5), None).actions.tolist()
    assert -0.1 <= lowest < -0.0999
    assert 0.0999 < highest <= 0.1


@pytest.mark.parametrize("action", [-1.0, 1.0])
def test_an_action_at_a_bound_has_a_finite_log_probability_and_gradient(action: float) -> None:
    inputs = torch.tensor([[9.0 * action, 0.0]], requires_grad=True)
    log_prob = SquashedGaussian(-1.0, 1.0).log_prob(inputs, torch.tensor([action]), None)
    log_prob.sum().backward()  # type: ignore[no-untyped-call]
    assert torch.isfinite(log_prob).all()
    assert inputs.grad is not None
    assert torch.isfinite(inputs.grad).all()


@pytest.mark.parametrize("std", [1e-3, 0.1, 1.0, 2.0])
@pytest.mark.parametrize("mean", [0.0, -0.7, 3.0])
def test_the_entropy_is_the_integral(mean: float, std: float) -> None:
    kind = SquashedGaussian(-3.0, 1.0)
    x = torch.linspace(-10, 10, 100_001, dtype=torch.float64) * std + mean
    weight = (-0.5 * ((x - mean) / std).square()).exp()
    steepness = 2 * (math.log(2) - x - torch.nn.functional.softplus(-2 * x)) + math.log(2)
    expected = 0.5 * math.log(2 * math.pi * math.e) + math.log(std) + (weight * steepness).sum() / weight.sum()
    found = kind.entropy(torch.tensor([[mean, math.log(std)]], dtype=torch.float64), None)
    assert found.item() == pytest.approx(expected.item(), abs=1e-3)


def test_the_divergence_is_that_before_the_squashing() -> None:
    p, q = torch.tensor([[0.3, -0.2]]), torch.tensor([[-0.5, 0.4]])
    normals = [torch.distributions.Normal(x[:, :1], x[:, 1:].exp()) for x in (p, q)]
    expected = torch.distributions.kl_divergence(*normals).sum(1)
    torch.testing.assert_close(SquashedGaussian(-7.0, 9.0).kl(p, q, None), expected)


@pytest.mark.parametrize(
    ("low", "high", "shape", "message"),
    [
        (1.0, 1.0, (), "low < high"),
        (2.0, 1.0, (3,), "low < high"),
        (0.0, math.inf, (), "finite bounds"),
        (math.nan, 1.0, (), "finite bounds"),
        ((0.0, 0.0), 1.0, (3,), "do not fit an action of shape"),
        (0.0, 1.0, (0,), "positive sizes"),
    ],
)
def test_bounds_that_bound_nothing_are_refused(low: Bound, high: Bound, shape: tuple[int, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SquashedGaussian(low, high, shape)
