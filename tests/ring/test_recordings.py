"""Games of a running service become files, and files become rows again."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import pytest

from app.models.module import spec_of
from app.recordings.index import recordings
from app.recordings.reading import read_episodes
from app.sources.fitting import fields_of
from app.sources.formats.recordings import RecordingShard
from app.sources.trajectory import trajectory
from app.types import Purpose, RowKind, Rows

from .service import Cluster, Service, playing, wait_until

pytestmark = pytest.mark.ray

RECORD = "agents.player.record={every: 2, file_s: 0.3}"


def recorded(service: Service) -> list[Rows]:
    """Returns the episodes of all files."""
    folder = service.home / service.trial_name / "recordings"
    files = sorted(folder.glob("player-*.parquet"))
    stored = [each for file in files for each in RecordingShard(file, {})]
    fields = fields_of(spec_of(service.module(0)))
    rows = [trajectory(each, fields, 0) for each in stored]
    assert None not in rows
    return [each for each in rows if each is not None]


@pytest.fixture(params=["train", pytest.param("deploy", marks=pytest.mark.long)])
def service(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[Service]:
    mode = str(request.param)
    with Service(cluster, f"recorded_{mode}", RECORD, f"run.mode={mode}") as running:
        yield running


def test_every_second_game_is_recorded_whole(service: Service) -> None:
    if service.config.run.mode == "train":
        service.publish(1)
    with playing(service.url, games=8) as game_core:
        wait_until(lambda: len(recorded(service)) >= 60, "episodes are recorded")
    games = game_core.result().episodes
    wait_until(lambda: len(recorded(service)) > 0.2 * games, "what was played last is written")
    episodes = recorded(service)
    assert 0.2 * games < len(episodes) < 0.8 * games
    assert "recordings_dropped" not in service.status()["counts"]
    for rows in episodes:
        assert rows["kind"][-1] in (RowKind.TERMINATED, RowKind.TRUNCATED)
        assert rows["tick"].tolist() == list(range(len(rows["tick"])))
        assert (rows["reward"][:-1] == 1).all()
        assert (rows["log_prob"][:-1] < 0).all()
    assert len({int(rows["episode"][0]) for rows in episodes}) == len(episodes)
    files = sorted((service.home / service.trial_name / "recordings").glob("player-*.parquet"))
    for episode in read_episodes(files[0]):
        assert episode.start is not None
        assert [step.seq for step in episode.steps] == list(range(len(episode.steps)))
        tick = episode.ticks[0]
        assert tick.output_json() == {"action": int(tick.action[""])}
        assert tick.input_json()["observation"] == pytest.approx(tick.observation[""].tolist())  # type: ignore[index,call-overload]
        assert np.isfinite(tick.dist_inputs[""]).all()
        assert tick.agent_ms >= tick.model_ms > 0


def test_the_next_games_are_recorded_when_an_operator_asks(service: Service) -> None:
    if service.config.run.mode == "train":
        service.publish(1)
    asked = httpx.post(f"{service.url}/recordings", params={"agent": "player", "games": 5}, timeout=10)
    assert asked.json() == {"agent": "player", "games": 5}
    folder = service.home / service.trial_name
    with playing(service.url, games=8):
        wait_until(lambda: [one.why for one in recordings(folder)].count("asked") >= 1, "games are recorded")
    assert httpx.post(f"{service.url}/recordings", params={"session": "none"}, timeout=10).status_code == 404


def test_games_of_a_greedy_player_are_recorded_too(service: Service) -> None:
    if service.config.run.mode == "train":
        service.publish(1)
    before = len(recorded(service))
    with playing(service.url, games=8, purpose=Purpose.EVALUATE):
        wait_until(lambda: len(recorded(service)) >= before + 5, "episodes are recorded")
    assert all(np.isfinite(rows["observation"]).all() for rows in recorded(service))
    assert Path(service.home / service.trial_name / "recordings").is_dir()
