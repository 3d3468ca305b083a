import math

import numpy as np
import pytest
import torch

from app.models.distributions.action import draw
from app.models.distributions.categorical import Categorical
from app.models.distributions.epsilon_greedy import EpsilonGreedy
from app.nested import Structure
from app.seeding import Draws

KIND = EpsilonGreedy(3)
VALUES = [5.0, 9.0, 7.0]


def inputs(chance: float, rows: int = 1) -> np.ndarray:
    return np.array([[*VALUES, chance]] * rows, np.float32)


def test_probabilities_by_hand() -> None:
    found = [
        math.exp(KIND.log_prob(torch.from_numpy(inputs(0.3)), torch.tensor([action]), None).item())
        for action in range(3)
    ]
    assert found == pytest.approx([0.1, 0.8, 0.1])
    entropy = KIND.entropy(torch.from_numpy(inputs(0.3)), None).item()
    assert entropy == pytest.approx(-0.8 * math.log(0.8) - 0.2 * math.log(0.1))


@pytest.mark.parametrize(("uniform", "action"), [(0.05, 0), (0.15, 1), (0.85, 1), (0.95, 2)])
def test_a_uniform_number_picks_by_the_distribution_function(uniform: float, action: int) -> None:
    acted = KIND.act(inputs(0.3), np.array([[uniform]]), None)
    assert acted.actions.tolist() == [action]
    assert acted.log_probs[0] == pytest.approx(math.log(0.8 if action == 1 else 0.1))


def test_the_best_allowed_choice_is_taken_where_nothing_is_random() -> None:
    nothing = np.full((1, 1), np.nan)
    assert KIND.act(inputs(1.0), nothing, None).actions.tolist() == [1]
    assert KIND.act(inputs(1.0), nothing, np.array([[True, False, True]])).actions.tolist() == [2]
    assert KIND.act(inputs(0.0), np.array([[0.0]]), None).actions.tolist() == [1]


def test_one_legal_choice_has_probability_one_no_entropy_and_finite_gradients() -> None:
    mask = np.array([[True, False, False]] * 50)
    acted = KIND.act(inputs(0.5, 50), np.random.default_rng(0).random((50, 1)), mask)
    assert set(acted.actions.tolist()) == {0}
    assert acted.log_probs.tolist() == [0.0] * 50
    given = torch.from_numpy(inputs(0.5)).requires_grad_()
    entropy = KIND.entropy(given, torch.from_numpy(mask[:1]))
    assert entropy.item() == pytest.approx(0)
    (gradient,) = torch.autograd.grad(entropy.sum(), given)
    assert torch.isfinite(gradient).all()


def test_a_mask_that_allows_nothing_is_an_error() -> None:
    with pytest.raises(ValueError, match="at least one action"):
        KIND.act(inputs(0.5), np.array([[0.5]]), np.zeros((1, 3), bool))


def test_on_a_ladder_a_session_explores_by_its_own_number() -> None:
    kind = EpsilonGreedy(3, ladder=7.0)
    assert (kind.draws, kind.own_draws) == (2, 1)
    own = np.array([0.0, 0.5, 1.0])
    acted = kind.act(inputs(0.4, 3), np.stack([np.full(3, 0.5), own], 1), None)
    assert np.exp(acted.log_probs) == pytest.approx([1 - chance * 2 / 3 for chance in (0.4, 0.4**4.5, 0.4**8)])


def test_the_number_of_a_session_stays_and_the_others_change() -> None:
    action = Structure((Categorical(2), EpsilonGreedy(3, ladder=1.0), Categorical(2)))
    draws, plain = Draws(3), Draws(3)
    first, second = (draw(action, draws.random, draws.own) for _ in range(2))
    assert [*first[:2], first[3]] == [plain.random() for _ in range(3)]
    assert first[2] == second[2] == Draws(3).own() != Draws(4).own()
    assert set(first) & set(second) == {first[2]}


@pytest.mark.parametrize(("choices", "ladder"), [(0, 0.0), (2, -1.0), (2, math.nan)])
def test_impossible_parameters_are_refused(choices: int, ladder: float) -> None:
    with pytest.raises(ValueError, match=f"got {choices} and"):
        EpsilonGreedy(choices, ladder)
