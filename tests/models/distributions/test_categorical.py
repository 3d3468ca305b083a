import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from app.models.distributions.categorical import Categorical, choose, log_softmax

SAMPLES = 20_000


def floats(*rows: list[float]) -> np.ndarray:
    return np.array(rows, np.float32)


def flags(*rows: list[int]) -> np.ndarray:
    return np.array(rows, bool)


@pytest.mark.parametrize("mask", [None, [1, 1, 1, 1], [1, 0, 1, 0]])
def test_actions_are_sampled_as_often_as_they_are_probable(mask: list[int] | None) -> None:
    logits = floats([0.0, 1.0, -1.0, 2.0])
    log_probs = log_softmax(logits, None if mask is None else flags(mask))
    uniforms = np.random.default_rng(0).random(SAMPLES)
    actions = choose(np.repeat(log_probs, SAMPLES, 0), uniforms)
    frequency = np.bincount(actions, minlength=4) / SAMPLES
    weight = np.exp(logits[0]) * (mask or [1, 1, 1, 1])
    np.testing.assert_allclose(frequency, weight / weight.sum(), atol=0.012)
    assert (frequency > 0).tolist() == [bool(flag) for flag in mask or [1, 1, 1, 1]]


def test_the_uniform_number_is_a_place_in_the_distribution_function() -> None:
    log_probs = np.log(floats([0.25, 0.5, 0.25]))
    places = np.array([0.0, 0.2499, 0.2501, 0.7499, 0.7501, 1 - 2**-53])
    assert choose(np.repeat(log_probs, len(places), 0), places).tolist() == [0, 0, 1, 1, 2, 2]


def test_an_action_of_probability_0_is_not_taken_even_at_the_edges() -> None:
    log_probs = log_softmax(floats([5, 1, 1, 5], [5, 1, 1, 5]), flags([0, 1, 1, 0], [0, 1, 1, 0]))
    assert choose(log_probs, np.array([0.0, 1 - 2**-53])).tolist() == [1, 2]


def test_nan_takes_the_most_probable_action() -> None:
    log_probs = log_softmax(floats([0, 3, 1], [2, 0, 1]), flags([1, 0, 1], [1, 1, 1]))
    assert choose(log_probs, np.array([np.nan, np.nan])).tolist() == [2, 0]


def test_greedy_and_sampled_rows_may_stand_in_one_batch() -> None:
    log_probs = np.log(floats([0.6, 0.4], [0.6, 0.4]))
    assert choose(log_probs, np.array([np.nan, 0.9])).tolist() == [0, 1]


def test_log_probabilities_are_those_of_torch() -> None:
    logits = np.random.default_rng(0).normal(0, 5, (64, 7)).astype(np.float32)
    expected = torch.from_numpy(logits).double().log_softmax(-1).numpy()
    np.testing.assert_allclose(log_softmax(logits), expected, rtol=1e-5, atol=1e-6)


def test_huge_logits_are_no_matter() -> None:
    assert log_softmax(floats([1e30, -1e30, 1e30])).tolist() == [
        [pytest.approx(-np.log(2)), pytest.approx(-2e30), pytest.approx(-np.log(2))]
    ]


def test_a_mask_without_any_action_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one action in each row"):
        log_softmax(floats([0, 0], [0, 0]), flags([1, 0], [0, 0]))


def test_one_legal_action_is_certain_has_no_entropy_and_finite_gradients() -> None:
    logits = torch.tensor([[3.0, -2.0, 9.0]], requires_grad=True)
    log_prob, entropy = learned(logits, torch.tensor([1]), torch.tensor([[False, True, False]]))
    assert log_prob.tolist() == [0.0]
    assert entropy.tolist() == [0.0]
    (log_prob + entropy).sum().backward()  # type: ignore[no-untyped-call]
    assert logits.grad is not None
    assert logits.grad.tolist() == [[0.0, 0.0, 0.0]]


def learned(logits: torch.Tensor, action: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    choice = Categorical(logits.shape[1])
    return choice.log_prob(logits, action, mask), choice.entropy(logits, mask)


rows = st.lists(st.tuples(st.floats(-30, 30, width=32), st.booleans()), min_size=2, max_size=6).filter(
    lambda row: any(legal for _, legal in row)
)


@given(rows, st.data())
def test_what_is_learned_from_is_what_was_acted_on(row: list[tuple[float, bool]], data: st.DataObject) -> None:
    logits, mask = floats([x for x, _ in row]), flags([legal for _, legal in row])
    action = data.draw(st.sampled_from([at for at, (_, legal) in enumerate(row) if legal]))
    acted = log_softmax(logits, mask)[0, action]
    log_prob, entropy = learned(torch.from_numpy(logits), torch.tensor([action]), torch.from_numpy(mask))
    assert float(log_prob) == pytest.approx(float(acted), rel=1e-5, abs=1e-5)
    legal = torch.tensor([x for x, ok in row if ok], dtype=torch.float64)
    expected = torch.distributions.Categorical(logits=legal).entropy()
    assert float(entropy) == pytest.approx(float(expected), rel=1e-4, abs=1e-5)


@given(rows, st.floats(0, 1, exclude_max=True))
def test_a_masked_action_is_never_sampled(row: list[tuple[float, bool]], uniform: float) -> None:
    log_probs = log_softmax(floats([x for x, _ in row]), flags([legal for _, legal in row]))
    (action,) = choose(log_probs, np.array([uniform])).tolist()
    assert row[action][1]


@pytest.mark.parametrize("logit", [0.0, 1e4, -1e4, 1e31, 3e38, -3e38])
def test_a_masked_choice_has_probability_0_whatever_the_logits(logit: float) -> None:
    logits = torch.tensor([[logit, 3e38, -3e38, logit]], requires_grad=True)
    mask = torch.tensor([[True, False, False, True]])
    choice = Categorical(4)
    for masked in (1, 2):
        assert choice.log_prob(logits, torch.tensor([masked]), mask).exp().item() == 0.0
    acted = choice.act(logits.detach().numpy(), np.array([[0.7]]), mask.numpy())
    assert (acted.actions.tolist(), acted.log_probs.tolist()) == ([3], [pytest.approx(-np.log(2))])
    entropy = choice.entropy(logits, mask)
    assert entropy.item() == pytest.approx(np.log(2))
    (choice.log_prob(logits, torch.tensor([0]), mask) + entropy).sum().backward()  # type: ignore[no-untyped-call]
    assert logits.grad is not None
    assert torch.isfinite(logits.grad).all()
    assert logits.grad[0, 1:3].tolist() == [0.0, 0.0]


def test_a_choice_that_is_nearly_impossible_has_finite_entropy_and_gradients_without_a_mask() -> None:
    logits = torch.tensor([[3e38, -3e38, 0.0]], requires_grad=True)
    entropy = Categorical(3).entropy(logits, None)
    entropy.sum().backward()  # type: ignore[no-untyped-call]
    assert entropy.tolist() == [0.0]
    assert logits.grad is not None
    assert torch.isfinite(logits.grad).all()


@given(rows, st.lists(st.floats(-30, 30, width=32), min_size=6, max_size=6))
def test_the_divergence_is_that_of_torch_over_the_legal_choices(
    row: list[tuple[float, bool]], other: list[float]
) -> None:
    mask = flags([legal for _, legal in row])
    p, q = torch.tensor([[x for x, _ in row]]), torch.tensor([other[: len(row)]])
    found = Categorical(len(row)).kl(p, q, torch.from_numpy(mask))
    legal = torch.from_numpy(mask[0])
    expected = torch.distributions.kl_divergence(
        torch.distributions.Categorical(logits=p[0, legal].double()),
        torch.distributions.Categorical(logits=q[0, legal].double()),
    )
    assert float(found) == pytest.approx(float(expected), rel=1e-3, abs=1e-4)
