"""What ``bench league`` measures."""

import json

from train.bench.league import LeaguePlan, league, recorded_league
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
