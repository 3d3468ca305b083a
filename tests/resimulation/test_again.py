"""Recorded games once more, against the model that played them and against others."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from app.agents.agent import Agent
from app.agents.gym_agent import GymAgent
from app.errors import RecordingError
from app.models.placement import LocalModel
from app.models.torch_engine import TorchEngine
from app.recordings.reading import Episode, read_episode
from app.resimulation.again import play_again
from app.resimulation.comparison import Comparison, compare
from app.resimulation.lines import lines
from app.types import Arrays, Version
from tests.recordings.played import LOGITS, Service, write_games
from tests.resimulation.carrying import CarryingPolicy
from tests.small_policy import TablePolicy


async def no_weights(version: Version) -> Arrays:
    raise LookupError(str(version))


def table(*logits: float) -> LocalModel:
    return LocalModel(TorchEngine(TablePolicy(logits)), no_weights)


async def recorded(path: Path, ticks: int = 6) -> Episode:
    return read_episode(await write_games(path / "games.parquet", [ticks]), 0)


async def against(episode: Episode, model: LocalModel, agent: type[Agent] = GymAgent) -> Comparison:
    return compare(episode, "other", await play_again(episode, agent, model), model.spec)


async def test_the_model_that_played_acts_as_it_did(tmp_path: Path) -> None:
    comparison = await against(await recorded(tmp_path), table(*LOGITS))
    assert len(comparison.ticks) == 6
    assert comparison.differing == []
    assert comparison.mean_kl == pytest.approx(0, abs=1e-6)
    for number, tick in enumerate(comparison.ticks):
        assert tick.seq == number + 1
        assert tick.action == tick.other_action
        assert tick.probability == pytest.approx(tick.other_probability)
        assert tick.value == tick.other_value == number
        assert tick.error is None
    assert list(lines(comparison)) == [
        "session g0-agent-player: other acts differently in 0 of 6 ticks, mean KL 0.0000 nats"
    ]


async def test_another_model_is_told_apart_tick_by_tick_with_the_same_random_numbers(tmp_path: Path) -> None:
    episode = await recorded(tmp_path, 20)
    played = [int(step.action[""]) for step in episode.ticks]
    assert set(played) == {0, 1}
    comparison = await against(episode, table(9.0, -9.0))
    assert [tick.seq for tick in comparison.differing] == [seq + 1 for seq, action in enumerate(played) if action == 1]
    first = comparison.differing[0]
    assert (first.action, first.other_action) == (1, 0)
    # The softmax of 0 and 1 gives the second one 1 / (1 + 1/e); KL from the formula.
    p = 1 / (1 + np.exp(-1.0))
    q = 1 / (1 + np.exp(18.0))
    assert first.probability == pytest.approx(p, rel=1e-5)
    assert first.other_probability == pytest.approx(q, rel=1e-3)
    assert comparison.mean_kl == pytest.approx(p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q)), rel=1e-4)
    told = list(lines(comparison))
    assert told[1].startswith(f"  step {first.seq}: 1 (version 0.0, probability 0.731, value {float(first.seq - 1)})")


async def test_a_recurrent_state_follows_from_the_other_models_answers_in_order(tmp_path: Path) -> None:
    episode = await recorded(tmp_path, 5)
    model = LocalModel(TorchEngine(CarryingPolicy()), no_weights)
    again = await play_again(episode, GymAgent, model)
    values = [float(one.asked[-1].decision.value) for one in again if one.asked]
    assert values == [1, 2, 3, 4, 5]  # It counts the ticks in its state.


async def test_a_start_may_have_asked_for_a_version_and_an_evaluated_game_is_greedy_again(tmp_path: Path) -> None:
    service = Service()
    await service.start(options={"greedy": True})
    for number in range(4):
        await service.tick(number)
    await service.stop(4)
    episode = read_episode(service.write(tmp_path / "greedy.parquet"), 0)
    comparison = await against(episode, table(*LOGITS))
    assert [tick.other_action for tick in comparison.ticks] == [1, 1, 1, 1]
    assert comparison.differing == []


async def test_what_the_agent_refuses_this_time_is_told(tmp_path: Path) -> None:
    episode = await recorded(tmp_path, 2)
    bad = replace(episode.steps[1], input=b'{"observation": [1]}')
    comparison = await against(replace(episode, steps=(episode.steps[0], bad, *episode.steps[2:])), table(*LOGITS))
    assert comparison.ticks[0].error is not None
    assert comparison.ticks[0].error.startswith("bad_payload: observation has shape (1,)")
    assert comparison.ticks[0].differs
    assert comparison.ticks[1].error is None
    assert comparison.as_dict()["errors"] == 1


async def test_a_recording_without_its_start_or_what_came_is_refused(tmp_path: Path) -> None:
    episode = await recorded(tmp_path, 2)

    async def refusal(*steps: object) -> str:
        with pytest.raises(RecordingError) as caught:
            await play_again(replace(episode, steps=steps), GymAgent, table(*LOGITS))  # type: ignore[arg-type]
        return str(caught.value)

    assert "begins with a tick; allowed is a recording from the start on" in await refusal(*episode.steps[1:])
    blank = replace(episode.steps[1], input=None)
    assert "does not hold what came" in await refusal(episode.steps[0], blank)
