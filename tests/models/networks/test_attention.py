import pytest
import torch

from app.models.networks.attention import AttentionBlock, EntityEncoder

ROWS, FEATURES = 6, 3


def encoder() -> EntityEncoder:
    torch.manual_seed(0)
    return EntityEncoder(FEATURES, 8, 2, 2)


def seen(games: int = 5) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    present = torch.rand(games, ROWS, generator=generator) > 0.4
    present[:, 0] = True
    return torch.randn(games, ROWS, FEATURES, generator=generator), present


@pytest.mark.parametrize("junk", [1e30, float("inf"), float("nan")])
def test_absent_entities_have_no_influence_and_no_gradient(junk: float) -> None:
    rows, present = seen()
    spoiled = torch.where(present[..., None], rows, junk).requires_grad_()
    one, other = encoder()(rows, present), encoder()(spoiled, present)
    assert torch.equal(one.tokens, other.tokens)
    assert torch.equal(one.mean, other.mean)
    other.mean.sum().backward()  # type: ignore[no-untyped-call]
    assert spoiled.grad is not None
    assert not spoiled.grad[~present].any()
    assert torch.isfinite(spoiled.grad).all()


def test_features_follow_the_order_of_the_entities_and_the_mean_does_not() -> None:
    (rows, present), order = seen(), torch.tensor([3, 0, 5, 1, 4, 2])
    one, other = encoder()(rows, present), encoder()(rows[:, order], present[:, order])
    torch.testing.assert_close(one.tokens[:, order], other.tokens)
    torch.testing.assert_close(one.mean, other.mean)


def test_more_room_for_absent_entities_changes_nothing() -> None:
    rows, present = seen()
    more = torch.cat([rows, torch.full((5, 4, FEATURES), 7.0)], dim=1)
    wider = torch.cat([present, torch.zeros(5, 4, dtype=torch.bool)], dim=1)
    torch.testing.assert_close(encoder()(more, wider).mean, encoder()(rows, present).mean)


def test_nobody_at_all_is_zeros() -> None:
    rows, present = seen()
    found = encoder()(rows, torch.zeros_like(present))
    assert not found.tokens.any()
    assert not found.mean.any()


def test_heads_that_do_not_divide_the_width_are_refused() -> None:
    with pytest.raises(ValueError, match="hidden is 10 and heads 4; allowed is a multiple of heads"):
        AttentionBlock(10, 4)
