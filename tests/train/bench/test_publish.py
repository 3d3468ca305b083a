from dataclasses import replace

import pytest

from app.config.active import active
from app.config.slots import slots, total
from app.models.module import build_module, to_arrays
from app.stores.weights_format import size_of
from train.bench.publish import told_publishes, told_ticks
from train.bench.published import Moments, publish_config

from .test_cells import GOOD


def moments(put_ms: float, reach_ms: float, count: int = 5) -> list[Moments]:
    return [Moments(10.0, 10.0 + put_ms / 1e3, 10.0 + (put_ms + reach_ms) / 1e3)] * count


def test_a_publish_is_told_beside_its_limit() -> None:
    told = told_publishes(1, moments(6, 9), moments(2, 3))
    assert told["reach_ms"]["median"] == pytest.approx(9)  # type: ignore[index]
    assert told["whole_ms"]["median"] == pytest.approx(15)  # type: ignore[index]
    assert told["limit_whole_ms"]["median"] == pytest.approx(5)  # type: ignore[index]
    assert (told["ratio"], told["measured"], told["within"]) == (3.0, True, True)


@pytest.mark.parametrize(
    ("size_mb", "put_ms", "reach_ms", "within"),
    [(1, 10, 19, True), (1, 10, 21, False), (100, 100, 39, True), (100, 100, 41, False), (100, 130, 21, False)],
)
def test_the_aim_is_met_by_both_parts_of_the_way(size_mb: int, put_ms: float, reach_ms: float, within: bool) -> None:
    assert told_publishes(size_mb, moments(put_ms, reach_ms), moments(1, 1))["within"] is within


def test_few_or_scattered_publishes_are_not_measured() -> None:
    assert told_publishes(1, moments(6, 9, 4), moments(2, 3))["measured"] is False
    assert told_publishes(1, moments(6, 9, 3) + moments(60, 90, 3), moments(2, 3))["measured"] is False


def test_ticks_are_told_with_what_updates_add() -> None:
    without, during = [GOOD] * 5, [replace(GOOD, p999_ms=6.5)] * 5
    told = told_ticks(without, during, [100, 100, 99, 100, 100])
    assert (told["added_ms"], told["within"], told["measured"], told["updates"]) == (4.5, True, True, 99)
    assert told_ticks(without, [replace(GOOD, p999_ms=7.5)] * 5, [100])["within"] is False


def test_a_wrong_answer_is_no_measurement() -> None:
    told = told_ticks([GOOD] * 5, [replace(GOOD, errors=1, first_error="lost")] * 5, [100])
    assert (told["measured"], told["errors"], told["first_error"]) == (False, 5, "lost")


def test_the_service_has_two_replicas_whose_sessions_ask_the_smallest_model() -> None:
    config = active(publish_config([100, 1]))
    assert total(slots(config)).num_cpus == 0
    actor = config.actors["pair"]
    assert (actor.replicas, config.agents[actor.agents[0]].model) == (2, "mb1")


@pytest.mark.parametrize("mb", [1, 3])
def test_a_policy_is_as_large_as_it_is_said_to_be(mb: int) -> None:
    size = size_of(to_arrays(build_module("train.bench.policy:build", {"mb": mb}, 0)))
    assert mb <= size / 2**20 < mb * 1.05
