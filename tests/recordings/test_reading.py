"""Recordings are read as the games that they were."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from app.errors import RecordingError
from app.recordings.files import write_table
from app.recordings.index import find_session, recordings
from app.recordings.privacy import Privacy
from app.recordings.reading import read_episode, read_episodes
from app.recordings.table import table
from app.types import RowKind
from tests.recordings.played import Service, write_games


async def test_a_file_is_read_as_the_sessions_that_were_played(tmp_path: Path) -> None:
    path = await write_games(tmp_path / "player.parquet", [3, 1])
    first, second = read_episodes(path)
    assert (first.session, first.game, first.agent, first.purpose) == ("g0-agent-player", "g0", "player", "train")
    assert [step.event for step in first.steps] == ["start", "tick", "tick", "tick", "stop"]
    assert (first.returned, second.returned) == (1 + 2 + 3, 1)
    tick = first.ticks[1]
    assert tick.input_json() == {"observation": [1, -1], "reward": 1}
    assert tick.output_json() == {"action": int(tick.action[""])}
    np.testing.assert_array_equal(tick.observation[""], np.array([1, -1], np.float32))
    np.testing.assert_array_equal(tick.dist_inputs[""], np.array([0, 1], np.float32))
    assert (float(tick.reward), float(tick.value), tick.version) == (2.0, 1.0, "0.0")
    assert tick.log_prob == pytest.approx(np.log([1 / (1 + np.e), np.e / (1 + np.e)])[int(tick.action[""])])
    assert first.stop is not None
    assert (first.stop.kind, first.stop.cause) == (RowKind.TERMINATED, "stop")
    assert first.spec["action"][""]["kind"] == "Categorical"


async def test_several_games_are_told_without_reading_all_of_them(tmp_path: Path) -> None:
    await write_games(tmp_path / "deep" / "player.parquet", [3, 1])
    (tmp_path / "other.parquet").write_bytes(b"none")
    found = {summary.session: summary for summary in recordings(tmp_path)}
    assert sorted(found) == ["g0-agent-player", "g1-agent-player"]
    told = found["g0-agent-player"]
    assert (told.ticks, told.returned, told.cause, told.versions, told.number) == (3, 6.0, "stop", ("0.0",), 0)
    assert len(recordings(tmp_path, newest=1)) == 1
    assert recordings(tmp_path / "nowhere") == []
    (episode,) = find_session(tmp_path, "g1-agent-player")
    assert len(episode.ticks) == 1
    with pytest.raises(RecordingError, match="no recording of session 'x'"):
        find_session(tmp_path, "x")


async def test_a_wrong_number_or_file_says_what_is_allowed(tmp_path: Path) -> None:
    path = await write_games(tmp_path / "player.parquet", [1, 1])
    with pytest.raises(RecordingError, match="episode 2 is wanted; it holds 2, allowed is 0 to 1"):
        read_episode(path, 2)
    with pytest.raises(RecordingError, match="allowed is a recording"):
        read_episode(tmp_path / "none.parquet", 0)
    parquet.write_table(pa.table({"reward": [1.0]}), path)
    with pytest.raises(RecordingError, match="schema version is none; allowed is 2"):
        read_episode(path, 0)


async def test_a_game_without_a_model_is_read_by_what_came_and_went(tmp_path: Path) -> None:
    service = Service()
    await service.game(2)
    for entry in service.played[0].entries:
        entry.rows, entry.decided = [], None
    path = tmp_path / "echo.parquet"
    write_table(path, table(service.played, None, Privacy(), {"agent": "echo"}))
    (episode,) = read_episodes(path)
    assert [step.event for step in episode.steps] == ["start", "tick", "tick", "stop"]
    assert (episode.spec, episode.ticks[0].has_decision, episode.ticks[0].observation) == ({}, False, {})
    assert recordings(tmp_path)[0].returned is None
