"""What ``bench league`` measures and says."""

import json

import pytest

from train.bench.league import LeaguePlan, Snapshot, league, recorded_league, told_entries, told_matches, told_snapshots
from train.launch.stopping import Stopper


def test_a_small_league_is_measured_whole() -> None:
    said: list[str] = []
    told = json.loads(json.dumps(league(LeaguePlan(windows=1, players=12, matches=200), Stopper(), said.append)))
    assert (told["bench"], told["players"], told["matches"]) == ("league", 12, 200)
    assert told["match"]["main_agent_ms"]["median"] > 0
    assert told["journal"]["limit_ms"]["runs"] == 1
    assert told["snapshot"]["loop_held_ms"]["median"] > 0
    assert not told["match"]["measured"]  # One window is too few.
    assert said[0] == "recording 200 matches of 12 players"


def test_the_measured_league_has_its_matches() -> None:
    state = recorded_league(LeaguePlan(players=20, matches=500), Stopper()).state
    assert len(state.roster.ids) == 20
    assert state.counts["matches_finished"] == 500
    assert len(state.matches) == 0


def test_the_slowest_matchmaker_counts() -> None:
    told = told_matches({"fast": [0.1] * 5, "slow": [1.1] * 5}, [2.0] * 5)
    assert (told["within"], told["ratio"], told["measured"]) == (False, 0.55, True)
    assert told_matches({"fast": [0.1] * 5}, [2.0] * 5)["within"]


def test_an_entry_is_within_with_and_without_the_disk() -> None:
    assert told_entries([(0.01, 0.1)] * 5, [4.0] * 5)["within"]
    assert not told_entries([(0.01, 1.5)] * 5, [4.0] * 5)["within"]
    assert told_entries([(0.01, 0.1)] * 5, [4.0] * 5)["ratio"] == pytest.approx(0.025)


def test_a_snapshot_is_within_by_its_cpu_in_loop_and_thread() -> None:
    assert told_snapshots([Snapshot(5.0, 40.0, 300.0, 9.0)] * 5, [15.0] * 5)["within"]
    assert not told_snapshots([Snapshot(5.0, 46.0, 300.0, 9.0)] * 5, [15.0] * 5)["within"]
    assert told_snapshots([Snapshot(5.0, 20.0, 30.0, 9.0)] * 5, [15.0] * 5)["ratio"] == 2.0
