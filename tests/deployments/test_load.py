from collections.abc import Iterator
from itertools import chain, repeat

import pytest

from deployments.load import LoopMeter


def clock(*seconds: float) -> Iterator[float]:
    return chain(seconds, repeat(seconds[-1]))


def meter(wall: Iterator[float], cpu: Iterator[float]) -> LoopMeter:
    return LoopMeter(lambda: next(wall), lambda: next(cpu))


def test_the_share_is_that_since_the_last_question() -> None:
    measured = meter(clock(10, 12, 16), clock(1, 2, 2))
    assert measured.busy() == pytest.approx(0.5)
    assert measured.busy() == 0


def test_a_question_in_the_same_moment_is_answered_idle() -> None:
    assert meter(clock(1, 1), clock(1, 2)).busy() == 0


def test_clocks_of_different_grain_do_not_lead_above_one() -> None:
    assert meter(clock(0, 1), clock(0, 1.01)).busy() == 1


def test_a_thread_that_computes_is_busy() -> None:
    measured = LoopMeter()
    # Where the machine stands still meanwhile, the share is smaller than it should be: not every time.
    assert any(sum(range(2_000_000)) > 0 and measured.busy() > 0.05 for _ in range(20))
