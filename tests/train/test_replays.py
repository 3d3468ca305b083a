"""Recorded games become pages of the trial's run."""

import threading
from pathlib import Path

import pytest

from app.config.root import ExperimentConfig
from app.errors import TrackingError
from app.recordings.index import recordings
from tests.recordings.played import Service
from train.replays import Replays, name_of

WAIT_S = 10.0


def config(**tracking: object) -> ExperimentConfig:
    return ExperimentConfig.model_validate(
        {
            "run": {"project": "game", "trial": "one"},
            "models": {"main": {"factory": "app.games.cartpole.model:build"}},
            "agents": {"player": {"model": "main", "record": {}}},
            "tracking": tracking,
        }
    )


async def record(folder: Path, name: str, at_s: float) -> None:
    service = Service()
    await service.game(2, f"{name}-agent-player")
    for entry in service.played[0].entries:
        entry.at_s = at_s
    service.write(folder / "recordings" / f"player-{name}.parquet")


class Kept:
    """Keeps pages, or refuses them while it is told to."""

    def __init__(self) -> None:
        self.pages: dict[str, str] = {}
        self.asked = threading.Event()
        self.refuses = False

    def __call__(self, name: str, page: str) -> None:
        self.asked.set()
        if self.refuses:
            raise TrackingError("the store is away")
        self.pages[name] = page


async def test_the_newest_game_is_attached_once(tmp_path: Path) -> None:
    await record(tmp_path, "a", 100.0)
    await record(tmp_path, "b", 200.0)
    kept = Kept()
    replays = Replays(config(replay_s=0.01), tmp_path, kept)
    replays.start()
    assert kept.asked.wait(WAIT_S)
    replays.close(WAIT_S)
    assert list(kept.pages) == ["19700101-000320-b-agent-player"]
    assert "b-agent-player" in kept.pages["19700101-000320-b-agent-player"]
    assert replays.attached == 1


async def test_what_was_recorded_last_is_attached_at_the_end(tmp_path: Path) -> None:
    kept = Kept()
    replays = Replays(config(), tmp_path, kept)
    replays.start()
    await record(tmp_path, "a", 100.0)
    replays.close(WAIT_S)
    assert len(kept.pages) == 1


async def test_a_store_that_is_away_is_told_once_and_asked_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await record(tmp_path, "a", 100.0)
    kept = Kept()
    kept.refuses = True
    replays = Replays(config(replay_s=0.01), tmp_path, kept)
    replays.start()
    for _ in range(3):
        assert kept.asked.wait(WAIT_S)
        kept.asked.clear()
    kept.refuses = False
    replays.close(WAIT_S)
    assert len(kept.pages) == 1
    assert caplog.text.count("was not attached to its run: the store is away") == 1


async def test_nothing_runs_where_nothing_is_recorded_or_wanted(tmp_path: Path) -> None:
    kept = Kept()
    for config_of in (config(replay_s=None), ExperimentConfig.model_validate({"run": {"project": "a", "trial": "b"}})):
        replays = Replays(config_of, tmp_path, kept)
        replays.start()
        replays.close(WAIT_S)
    assert not kept.asked.is_set()


async def test_a_name_is_a_file_name_and_begins_with_the_time(tmp_path: Path) -> None:
    await record(tmp_path, "x", 100.0)
    (summary,) = recordings(tmp_path)
    object.__setattr__(summary, "session", "../a b/ü")
    assert name_of(summary) == "19700101-000140-.._a_b_"
