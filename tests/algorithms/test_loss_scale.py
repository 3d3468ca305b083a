"""The scale of fp16 losses."""

from app.algorithms.loss_scale import GOOD_STEPS, LossScale


def test_an_overflow_halves_the_scale_down_to_one() -> None:
    scale = LossScale(4.0, 7)
    seen = []
    for _ in range(3):
        scale = scale.after(finite=False)
        seen.append((scale.scale, scale.good_steps, scale.can_shrink()))
    assert seen == [(2.0, 0, True), (1.0, 0, False), (1.0, 0, False)]


def test_it_doubles_after_so_many_good_steps() -> None:
    almost = LossScale(4.0, GOOD_STEPS - 2).after(finite=True)
    assert almost == LossScale(4.0, GOOD_STEPS - 1)
    assert almost.after(finite=True) == LossScale(8.0, 0)
