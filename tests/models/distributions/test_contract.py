"""What every kind of distribution does alike."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from app.models.distributions.distribution import Distribution

from .kinds import KINDS, moderate_inputs, uniforms_of

ROWS = 64
EXTREMES = [0.0, 1e-38, 30.0, -30.0, 1e4, -1e4, 1e30, -1e30, 3e38, -3e38]
EDGES = [0.0, 2.0**-53, 0.5, 1 - 2.0**-53]

every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())


@every_kind
def test_actions_have_the_shape_and_type_that_it_declares(kind: Distribution) -> None:
    acted = kind.act(moderate_inputs(kind, ROWS), uniforms_of(kind, ROWS), None)
    assert (acted.actions.shape, acted.actions.dtype) == ((ROWS, *kind.shape), kind.dtype)
    assert (acted.log_probs.shape, acted.log_probs.dtype) == ((ROWS,), np.float32)


@every_kind
def test_what_is_learned_from_is_what_was_acted_on(kind: Distribution) -> None:
    inputs = moderate_inputs(kind, ROWS)
    acted = kind.act(inputs, uniforms_of(kind, ROWS), None)
    learned = kind.log_prob(torch.from_numpy(inputs), torch.from_numpy(acted.actions), None)
    np.testing.assert_allclose(learned.numpy(), acted.log_probs, rtol=1e-5, atol=1e-5)


@every_kind
@pytest.mark.parametrize("edge", EDGES)
def test_extreme_inputs_give_finite_numbers_and_gradients(kind: Distribution, edge: float) -> None:
    inputs = np.array([[x if at % 2 == 0 else y for at in range(kind.inputs)] for x in EXTREMES for y in EXTREMES])
    inputs = np.concatenate([inputs, np.flip(inputs, 1)]).astype(np.float32)
    acted = kind.act(inputs, np.full((len(inputs), kind.draws), edge), None)
    assert np.isfinite(acted.actions).all()
    assert np.isfinite(acted.log_probs).all()
    given, others = (torch.from_numpy(x).requires_grad_() for x in (inputs, np.roll(inputs, 7, 0)))
    log_prob = kind.log_prob(given, torch.from_numpy(acted.actions), None)
    np.testing.assert_allclose(log_prob.detach().numpy(), acted.log_probs, rtol=1e-3, atol=1e-3)
    for found in (log_prob, kind.entropy(given, None), kind.kl(given, others, None)):
        assert torch.isfinite(found).all()
        (gradient,) = torch.autograd.grad(found.sum(), given)
        assert torch.isfinite(gradient).all()


@every_kind
def test_at_a_temperature_of_one_inputs_are_what_they_were(kind: Distribution) -> None:
    inputs = moderate_inputs(kind, ROWS)
    np.testing.assert_array_equal(kind.tempered(inputs, np.ones((ROWS, 1), np.float32)), inputs)


@every_kind
def test_a_temperature_keeps_the_most_probable_action(kind: Distribution) -> None:
    inputs, greedy = moderate_inputs(kind, ROWS), np.full((ROWS, kind.draws), np.nan)
    tempered = kind.tempered(inputs, np.linspace(0.1, 9, ROWS, dtype=np.float32)[:, None])
    np.testing.assert_array_equal(kind.act(tempered, greedy, None).actions, kind.act(inputs, greedy, None).actions)


@every_kind
def test_one_row_that_is_not_a_number_spoils_no_other(kind: Distribution) -> None:
    inputs, uniforms = moderate_inputs(kind, 3), uniforms_of(kind, 3)
    good = kind.act(inputs, uniforms, None)
    inputs[1] = np.nan
    acted = kind.act(inputs, uniforms, None)
    np.testing.assert_array_equal(acted.actions[[0, 2]], good.actions[[0, 2]])
    assert np.isnan(acted.log_probs).tolist() == [False, True, False]


@every_kind
def test_nan_in_place_of_uniform_numbers_takes_the_most_probable_action(kind: Distribution) -> None:
    inputs = moderate_inputs(kind, ROWS)
    greedy = kind.act(inputs, np.full((ROWS, kind.draws), np.nan), None)
    middle = kind.act(inputs, np.full((ROWS, kind.draws), 0.5), None)
    if kind.choices:
        assert greedy.actions.tolist() == inputs[:, : kind.choices].argmax(axis=1).tolist()
    else:
        np.testing.assert_allclose(greedy.actions, middle.actions, rtol=1e-6)


@every_kind
def test_the_divergence_from_itself_is_0_and_from_others_positive(kind: Distribution) -> None:
    one, other = (torch.from_numpy(moderate_inputs(kind, ROWS, seed)) for seed in (0, 1))
    torch.testing.assert_close(kind.kl(one, one, None), torch.zeros(ROWS), rtol=0, atol=1e-6)
    if kind.inputs > 1:
        assert (kind.kl(one, other, None) > 0).all()


@every_kind
def test_the_divergence_is_the_mean_difference_of_log_probabilities(kind: Distribution) -> None:
    rows = 20_000
    p, q = (moderate_inputs(kind, 1, seed) for seed in (2, 3))
    acted = kind.act(np.repeat(p, rows, 0), uniforms_of(kind, rows), None)
    actions = torch.from_numpy(acted.actions)
    logs = [kind.log_prob(torch.from_numpy(np.repeat(x, rows, 0)), actions, None).double() for x in (p, q)]
    difference = logs[0] - logs[1]
    expected = kind.kl(torch.from_numpy(p), torch.from_numpy(q), None).item()
    assert difference.mean().item() == pytest.approx(expected, abs=5 * difference.std().item() / rows**0.5 + 1e-6)


@every_kind
def test_the_entropy_is_the_mean_of_negative_log_probabilities(kind: Distribution) -> None:
    rows = 20_000
    inputs = moderate_inputs(kind, 1, 4)
    acted = kind.act(np.repeat(inputs, rows, 0), uniforms_of(kind, rows), None)
    logs = acted.log_probs.astype(np.float64)
    expected = kind.entropy(torch.from_numpy(inputs), None).item()
    assert -logs.mean() == pytest.approx(expected, abs=5 * logs.std() / rows**0.5 + 1e-3)


numbers = st.floats(-8, 8, width=32)


@pytest.mark.parametrize(
    "kind", [k for k in KINDS.values() if not k.choices], ids=[n for n, k in KINDS.items() if not k.choices]
)
@given(st.data())
def test_acted_and_learned_densities_are_equal_for_any_inputs_and_draws(
    kind: Distribution, data: st.DataObject
) -> None:
    inputs = np.array([data.draw(st.lists(numbers, min_size=kind.inputs, max_size=kind.inputs))], np.float32)
    uniform = st.floats(0, 1, exclude_max=True)
    uniforms = np.array([data.draw(st.lists(uniform, min_size=kind.draws, max_size=kind.draws))])
    acted = kind.act(inputs, uniforms, None)
    learned = kind.log_prob(torch.from_numpy(inputs), torch.from_numpy(acted.actions), None)
    assert learned.item() == pytest.approx(acted.log_probs.item(), rel=1e-4, abs=1e-4)


@pytest.mark.parametrize(
    "make",
    [lambda: KINDS["choices"].__class__(0), lambda: KINDS["number"].__class__((2, 0))],  # type: ignore[call-arg]
)
def test_sizes_that_are_not_positive_are_refused(make: Callable[[], Distribution]) -> None:
    with pytest.raises(ValueError, match="needs"):
        make()
