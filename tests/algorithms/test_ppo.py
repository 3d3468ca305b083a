import math

import pytest
import torch
from torch import Tensor

from app.algorithms.ppo import ClippedPolicy, PpoLoss
from app.algorithms.worth import Worth

LOSS = ClippedPolicy(clip_epsilon=0.2, value_coef=0.5, entropy_coef=0.01)


def column(*numbers: float) -> Tensor:
    return torch.tensor(numbers, dtype=torch.float64)


def loss_of(
    ratio: list[float], advantage: list[float], weight: list[float] | None = None, **other: list[float]
) -> PpoLoss:
    """Returns the loss of rows whose probability has changed by ``ratio``."""
    behaviour = column(*[-0.5 - 0.1 * at for at in range(len(ratio))])
    nothing = [0.0] * len(ratio)
    batch = Worth(
        behaviour,
        column(*advantage),
        column(*other.get("target", nothing)),
        column(*(weight or [1.0] * len(ratio))),
    )
    log_prob = behaviour + column(*ratio).log()
    return LOSS(log_prob, column(*other.get("entropy", nothing)), column(*other.get("value", nothing)), batch)


@pytest.mark.parametrize(
    ("ratio", "advantage", "expected"),
    [
        (1.0, 2.0, -2.0),
        (1.1, 2.0, -2.2),  # Inside the range nothing is clipped.
        (1.5, 2.0, -2.4),  # A good action is worth no more than 1.2 of its advantage,
        (0.5, 2.0, -1.0),  # but what was lost of it counts in full.
        (1.5, -2.0, 3.0),  # A bad action that became likelier counts in full,
        (0.5, -2.0, 1.6),  # and is worth no less than 0.8 once it is rarer.
    ],
)
def test_the_ratio_is_clipped_on_the_side_that_pays(ratio: float, advantage: float, expected: float) -> None:
    assert float(loss_of([ratio], [advantage]).policy) == pytest.approx(expected, abs=1e-12)


def test_all_terms_by_hand() -> None:
    loss = loss_of([1.5, 1.0], [2.0, -1.0], entropy=[0.6, 0.2], value=[1.0, 3.0], target=[4.0, 1.0])
    assert float(loss.policy) == pytest.approx(-2.4 + 1.0)
    assert float(loss.value) == pytest.approx(9.0 + 4.0)
    assert float(loss.entropy) == pytest.approx(0.8)
    assert float(loss.total) == pytest.approx(-1.4 + 0.5 * 13.0 - 0.01 * 0.8)
    assert float(loss.clip_fraction) == 1.0
    assert float(loss.kl) == pytest.approx(0.5 - math.log(1.5))


def test_the_gradient_of_a_clipped_row_is_zero_and_of_a_free_one_minus_its_advantage() -> None:
    behaviour = column(-0.5, -0.5)
    log_prob = (behaviour + column(1.5, 1.0).log()).requires_grad_()
    nothing = column(0, 0)
    batch = Worth(behaviour, column(2.0, 2.0), nothing, column(1, 1))
    LOSS(log_prob, nothing, nothing, batch).policy.backward()  # type: ignore[no-untyped-call]
    torch.testing.assert_close(log_prob.grad, column(0.0, -2.0))


def test_a_row_of_weight_0_changes_nothing_whatever_it_holds() -> None:
    plain = loss_of([1.3], [2.0], entropy=[0.5], value=[1.0], target=[2.0])
    garbage = {"entropy": [0.5, -7e5], "value": [1.0, 1e9], "target": [2.0, -4e7]}
    masked = loss_of([1.3, 55.0], [2.0, 1e6], weight=[1.0, 0.0], **garbage)
    torch.testing.assert_close(tuple(masked), tuple(plain))


def test_nothing_is_learned_from_the_returned_figures() -> None:
    log_prob = column(-0.2).requires_grad_()
    batch = Worth(column(-0.5), column(1.0), column(0.0), column(1.0))
    loss = LOSS(log_prob, column(0.0), column(0.0), batch)
    assert not loss.clip_fraction.requires_grad
    assert not loss.kl.requires_grad


def test_columns_of_unlike_shapes_are_refused() -> None:
    one, two = column(1.0), column(1.0, 2.0)
    with pytest.raises(ValueError, match=r"one shape \[B\], got \[\(1,\), \(2,\)\]"):
        LOSS(one, one, two, Worth(one, one, one, one))
    with pytest.raises(ValueError, match=r"one shape \[B\]"):  # [B, 1] against [B] would broadcast to [B, B].
        LOSS(two, two, two[:, None], Worth(two, two, two, two))


def test_a_bad_action_costs_no_more_than_the_dual_clip_allows() -> None:
    loss = ClippedPolicy(0.2, 0.5, 0.0, dual_clip=3.0)
    behaviour, nothing = column(-3.0, -3.0, -3.0), column(0, 0, 0)
    log_prob = (behaviour + column(10.0, 2.0, 10.0).log()).requires_grad_()
    got = loss(log_prob, nothing, nothing, Worth(behaviour, column(-2.0, -2.0, 2.0), nothing, column(1, 1, 1)))
    assert got.policy.item() == pytest.approx(3 * 2 + 2 * 2 - 1.2 * 2)
    got.total.backward()  # type: ignore[no-untyped-call]
    assert log_prob.grad is not None
    assert log_prob.grad.tolist() == pytest.approx([0.0, 4.0, 0.0])


def test_a_value_that_moved_too_far_gains_nothing_by_moving_further() -> None:
    loss = ClippedPolicy(0.2, 1.0, 0.0, value_clip=0.5)
    value, nothing = column(2.0, 1.2, -1.0).requires_grad_(), column(0, 0, 0)
    target, before = column(3.0, 3.0, 3.0), column(1.0, 1.0, 1.0)
    got = loss(nothing, nothing, value, Worth(nothing, nothing, target, column(1, 1, 1), before))
    assert got.value.item() == pytest.approx(1.5**2 + 1.8**2 + 4.0**2)
    got.total.backward()  # type: ignore[no-untyped-call]
    assert value.grad is not None
    assert value.grad.tolist() == pytest.approx([0.0, -3.6, -8.0])


def test_a_clipped_value_needs_the_one_before() -> None:
    one = column(1.0)
    with pytest.raises(ValueError, match="needs the values before the update"):
        ClippedPolicy(0.2, 1.0, 0.0, value_clip=0.5)(one, one, one, Worth(one, one, one, one))
