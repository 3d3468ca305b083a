import threading

import numpy as np

from app.models.engine import Engine
from app.models.question import GREEDY, Question
from app.models.shadow import Sample
from app.models.torch_engine import TorchEngine
from app.releases.plan import played_as
from app.releases.statistics import ShadowStatistics
from app.stores.shadow_lane import ShadowLane
from tests.small_policy import small_policy

SAMPLES = [Sample("s", 0, Question(np.zeros(2, np.float32), GREEDY), 0, 0.0)] * 3


async def test_a_shadow_that_hangs_has_failed_and_what_comes_meanwhile_is_dropped() -> None:
    go_on = threading.Event()

    def build() -> Engine:
        go_on.wait(30)
        return TorchEngine(small_policy())

    lane = ShadowLane(played_as(1), build, answer_s=0.05)
    try:
        assert await lane.compare(SAMPLES) == ShadowStatistics(failed=3)
        assert await lane.compare(SAMPLES) == ShadowStatistics(dropped=3)
    finally:
        go_on.set()
        lane.close()


async def test_a_shadow_that_cannot_be_built_has_failed() -> None:
    def build() -> Engine:
        raise ArithmeticError("on purpose")

    lane = ShadowLane(played_as(1), build)
    assert await lane.compare(SAMPLES) == ShadowStatistics(failed=3)
    lane.close()


async def test_a_shadow_that_answers_is_compared() -> None:
    lane = ShadowLane(played_as(1), lambda: TorchEngine(small_policy()))
    assert (await lane.compare(SAMPLES)).compared == 3
    lane.close()
