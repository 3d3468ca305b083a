from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ray.serve._private.common import TimeStampedValue

from deployments.autoscaling import BUSY, GAMES, LiveGames, replicas_for


def wanted(sessions: list[float], current: int, target: float = 10) -> int:
    return replicas_for({GAMES: sessions}, {GAMES: target}, current)


@pytest.mark.parametrize(
    ("sessions", "current", "expected"),
    [
        ([], 1, 1),
        ([10], 1, 1),
        ([11], 1, 2),
        ([21], 1, 3),
        ([30, 0, 0], 3, 3),
        ([9, 8, 0], 3, 3),  # 17 on two replicas of 10 would stand above 80 %: a few more would bring the third back.
        ([8, 8, 0], 3, 2),
        ([0, 0, 0], 3, 1),
    ],
)
def test_replicas_follow_the_open_sessions(sessions: list[float], current: int, expected: int) -> None:
    assert wanted(sessions, current) == expected


def test_the_load_that_wants_most_decides() -> None:
    loads, targets = {GAMES: [1.0, 1.0], BUSY: [0.9, 0.8]}, {GAMES: 10.0, BUSY: 0.5}
    assert replicas_for(loads, targets, 2) == 4


@given(st.lists(st.integers(0, 200), max_size=8), st.integers(1, 8), st.integers(1, 50))
def test_what_was_wanted_once_is_wanted_again(sessions: list[int], current: int, target: int) -> None:
    first = replicas_for({GAMES: sessions}, {GAMES: target}, current)
    assert replicas_for({GAMES: sessions}, {GAMES: target}, first) == first
    assert first * target >= sum(sessions)


def context(sessions: dict[str, float], running: int, target: int) -> Any:
    series = {name: [TimeStampedValue(1.0, 99.0), TimeStampedValue(2.0, value)] for name, value in sessions.items()}
    raw: dict[str, Any] = {GAMES: series, BUSY: {}}
    return SimpleNamespace(raw_metrics=raw, running_replicas=[None] * running, target_num_replicas=target)


def test_the_newest_report_of_each_replica_counts() -> None:
    assert LiveGames(10, None)(context({"a": 12.0, "b": 9.0}, 2, 2)) == (3, {})
    assert LiveGames(10, 0.5)(context({"a": 2.0, "b": 3.0}, 2, 2)) == (1, {})


def test_no_replica_is_given_up_while_one_is_silent() -> None:
    policy = LiveGames(10, None)
    assert policy(context({"a": 0.0}, 2, 2)) == (2, {})
    assert policy(context({}, 3, 3)) == (3, {})
    assert policy(context({"a": 35.0}, 2, 2)) == (4, {})
