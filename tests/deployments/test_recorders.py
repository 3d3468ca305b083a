"""Which games are recorded: every n-th, those that an operator asks for, those that an alarm keeps."""

from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from app.agents.game_log import About, Event, GameLog
from app.agents.gym_agent import GymAgent
from app.config.recording import PrivacyConfig
from app.config.serving import AgentConfig
from app.errors import BadRequestError, ConfigError, SessionUnknownError
from app.recordings.index import recordings
from app.seeding import Draws
from app.types import Purpose
from app.wire.payload import JsonCodec
from deployments.recorders import Recorders, privacy_of

AGENTS = {
    "player": AgentConfig.model_validate({"record": {"every": None, "purposes": ["play"]}}),
    "all": AgentConfig.model_validate({"record": {}, "renders": {"cart": "app.games.cartpole.render:cart"}}),
    "none": AgentConfig.model_validate({}),
}


def made(folder: Path) -> tuple[Recorders, Counter[str]]:
    counts: Counter[str] = Counter()
    return Recorders(folder, AGENTS, {}, counts, dict.fromkeys(AGENTS, GymAgent)), counts


@pytest.fixture
async def recorders(tmp_path: Path) -> AsyncIterator[Recorders]:
    made_here, _ = made(tmp_path)
    yield made_here
    await made_here.close()


def begun(recorders: Recorders, session: str, agent: str = "player", purpose: Purpose = Purpose.PLAY) -> Any:
    return recorders.log(About(session, session.partition("-")[0], agent, purpose, 1), Draws(1))


async def test_an_open_session_is_recorded_when_it_is_asked_for(recorders: Recorders) -> None:
    log, other = begun(recorders, "a-agent-player"), begun(recorders, "b-agent-player")
    recorders.ask_session("a-agent-player")
    assert (log.why, other.why) == ("asked", None)
    with pytest.raises(SessionUnknownError, match=r"no agent with a record config plays session 'c' here"):
        recorders.ask_session("c")


async def test_the_next_games_are_recorded_with_all_their_sessions(recorders: Recorders) -> None:
    recorders.ask_games("player", 2)
    whys = [begun(recorders, name).why for name in ("a-agent-1", "a-agent-2", "b", "c", "a-agent-3")]
    assert whys == ["asked", "asked", "asked", None, "asked"]
    with pytest.raises(BadRequestError, match="agent is 'none'; with a record config there are player, all"):
        recorders.ask_games("none", 1)
    with pytest.raises(BadRequestError, match="games is 0; allowed is 1 to"):
        recorders.ask_games("player", 0)


async def test_an_alarm_keeps_a_game_for_its_own_reason(recorders: Recorders) -> None:
    log = begun(recorders, "a")
    assert recorders.keep("a", "reward is NaN")
    assert recorders.keep("a", "another")
    assert log.why == "reward is NaN"
    assert not recorders.keep("b", "reward is NaN")


async def test_sessions_that_are_over_and_agents_that_record_nothing_are_not_found(recorders: Recorders) -> None:
    assert begun(recorders, "a", "none") is None
    assert begun(recorders, "a", purpose=Purpose.TRAIN) is None
    begun(recorders, "a")  # Nobody holds its log.
    assert not recorders.keep("a", "late")
    assert begun(recorders, "a", "all", Purpose.TRAIN).why == "every"


async def test_what_was_recorded_lies_in_the_trials_folder(tmp_path: Path) -> None:
    recorders, counts = made(tmp_path)
    log: GameLog = begun(recorders, "a", "all")
    log.answered(log.begin(Event.START, None))
    log.answered(log.begin(Event.TICK, b"{}"))
    log.end()
    await recorders.close()
    (summary,) = recordings(tmp_path / "recordings")
    assert (summary.agent, summary.session, summary.ticks, counts["recorded_episodes"]) == ("all", "a", 1, 1)


def test_a_key_that_is_named_must_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    config = PrivacyConfig(hash=("session",), key_env="RECORD_KEY")
    with pytest.raises(ConfigError, match="RECORD_KEY"):
        privacy_of(config, JsonCodec())
    monkeypatch.setenv("RECORD_KEY", "k")
    assert privacy_of(config, JsonCodec()).name("session", "a") == privacy_of(config, JsonCodec()).name("session", "a")
    drawn = PrivacyConfig(hash=("session",))
    assert privacy_of(drawn, JsonCodec()).name("session", "a") != privacy_of(drawn, JsonCodec()).name("session", "a")
