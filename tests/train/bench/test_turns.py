"""Agents of one replica that are measured in turns."""

from collections import Counter
from itertools import pairwise

import pytest

from train.bench.generator import Load, Mode, Window
from train.bench.turns import balanced_orders, in_turns, told_shares


def window(ticks: int, cpu_s: float = 1.0) -> Window:
    return Window(ticks, 1.0, 1.0, 1.0, 1.0, 1.0, 0, "", 0.1, (cpu_s,))


def test_shares_are_those_of_neighbouring_windows() -> None:
    off = [window(ticks) for ticks in (100, 200, 100, 200, 100)]
    on = [window(ticks) for ticks in (98, 196, 98, 196, 98)]
    told = told_shares(0.97, on, off)
    assert told["throughput_share"]["median"] == 0.98  # type: ignore[index]
    assert told["reached"] is True
    assert told_shares(0.97, [window(90)] * 5, [window(100)] * 5)["reached"] is False
    assert told_shares(0.97, on[:4], off[:4])["reached"] is False
    assert told_shares(0.97, on, off, [window(3 * one.ticks) for one in off])["throughput_share"]["median"] == 0.49  # type: ignore[index]
    assert told_shares(0.97, [window(0)], [window(1)]) == {"measured": False}


@pytest.mark.parametrize("count", [2, 3, 4])
def test_each_name_follows_each_other_one_equally_often(count: int) -> None:
    orders = balanced_orders(["plain", "control", "recorded", "kept"][:count])
    assert len({Counter(order[place] for order in orders)[name] for place in range(count) for name in orders[0]}) == 1
    follows = Counter(pair for order in orders for pair in pairwise(order))
    assert len(follows) == count * (count - 1)
    assert len(set(follows.values())) == 1


def test_all_agents_are_measured_in_turns_with_the_same_load() -> None:
    asked: list[Load] = []

    def run(load: Load) -> Window:
        asked.append(load)
        return window(99 if load.suffix == "-agent-recorded" else 100)

    load = Load(Mode.HTTP, 1, 8, 25, seconds=3.0, body="b", expect="e", pids=(11,))
    told = in_turns(run, load, ["plain", "control", "recorded"], 3, 0.97)
    names = [one.suffix.removeprefix("-agent-") for one in asked]
    assert names[:3] == ["plain", "control", "recorded"]
    assert Counter(names) == dict.fromkeys(("plain", "control", "recorded"), 3)
    assert {(one.port, one.pids, one.body, one.expect, one.seconds) for one in asked} == {(1, (11,), "b", "e", 3.0)}
    assert {one.connections * one.sessions for one in asked} == {200}
    assert told["shares"]["recorded"]["throughput_share"]["median"] == 0.99  # type: ignore[index]
    assert told["errors"] == 0
