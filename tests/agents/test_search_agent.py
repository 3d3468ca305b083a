"""An agent that looks ahead, from start to stop."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from app.agents.agent import AgentContext
from app.agents.outbox import Outbox
from app.agents.search_agent import SearchAgent
from app.agents.unroll import Row, Unroll
from app.errors import BadPayloadError, PluginError, SparringError
from app.games.connect_four.rules import Position
from app.replay.rows import row_dtypes
from app.seeding import Draws
from app.sessions.blackboard import Board
from app.sessions.game import Game
from app.sessions.session import EndCause
from app.types import Purpose, RowKind, Rows
from app.wire.trees import pack, unpack
from tests.agents.test_search_model import Judge, after

POSITION = "app.games.connect_four.rules:Position"


class Play:
    """A search agent with all that surrounds it."""

    def __init__(self, purpose: Purpose = Purpose.TRAIN, *, model: Judge | None = None, **kwargs: Any) -> None:
        self.emitted: list[list[Row]] = []
        self.model = model or Judge()
        unroll = Unroll(1, None, self.emitted.append) if purpose is Purpose.TRAIN else None
        board = Board(Game("g"), "player", 1.0)
        context = AgentContext("s", purpose, Draws(3), self.model, unroll, lambda *_: None, board)
        self.agent = SearchAgent(context, **({"position": POSITION, "simulations": 40} | kwargs))

    async def tick(self, position: Position, reward: float = 0.0) -> int:
        seen = {"observation": position.planes().tolist(), "action_mask": position.legal.astype(int).tolist()}
        answer: Any = await self.agent.on_tick(seen | {"reward": reward})
        return int(answer["action"])


async def test_an_evaluated_game_is_played_by_the_most_visited_actions() -> None:
    play = Play(Purpose.EVALUATE)
    await play.agent.on_start(None)
    assert await play.tick(after(0, 6, 1, 6, 2, 6)) == 3
    assert await play.tick(after(0, 6, 1, 6, 3)) == 2


async def test_a_trained_game_becomes_rows_with_the_searchs_log_probabilities_and_values() -> None:
    play = Play(temperature=0)
    await play.agent.on_start(None)
    assert await play.tick(after(0, 6, 1, 6, 2, 6)) == 3
    end = after(0, 6, 1, 6, 2, 6, 3)
    stop = {"observation": end.planes().tolist(), "reward": 1.0, "terminated": True}
    await play.agent.on_episode(stop, EndCause.STOP)
    (rows,) = play.emitted
    assert [row.kind for row in rows] == [RowKind.STEP, RowKind.TERMINATED]
    assert (rows[0].action, rows[0].reward, rows[0].log_prob) == (3, 1.0, 0.0)
    assert rows[0].value > 0.5


async def test_the_visits_travel_with_the_rows_to_the_learner_and_to_another_process() -> None:
    play, other = Play(), Play()
    await play.agent.on_start(None)
    await play.tick(after())
    await play.tick(after(0, 6, 1, 6, 2, 6))
    await other.agent.load_state_dict(unpack(pack(play.agent.state_dict())))
    end = after(0, 6, 1, 6, 2, 6, 3).planes().tolist()
    columns: list[Rows] = []
    for one in (play, other):
        await one.agent.on_episode({"observation": end, "reward": 1.0, "terminated": True}, EndCause.STOP)
        outbox = Outbox(replace(one.model.spec, policy_target=True), 100, lambda: None)
        outbox.add(one.emitted[0])
        columns.append(outbox.take())
    target = columns[0]["policy_target"]
    assert (target.shape, target.dtype) == ((3, 7), np.float32)
    np.testing.assert_allclose(target.sum(axis=1), [1, 1, 0], atol=1e-6)  # The last is a bootstrap row.
    assert target[1].argmax() == 3
    np.testing.assert_array_equal(columns[1]["policy_target"], target)


async def test_rows_of_a_model_without_a_target_stay_as_they_were() -> None:
    play = Play()
    await play.agent.on_start(None)
    await play.tick(after())
    await play.agent.on_episode({"observation": after(3).planes().tolist(), "terminated": True}, EndCause.STOP)
    outbox = Outbox(play.model.spec, 100, lambda: None)
    outbox.add(play.emitted[0])
    assert set(outbox.take()) == set(row_dtypes(play.model.spec))


async def test_noise_comes_in_training_alone() -> None:
    async def actions(purpose: Purpose) -> list[int]:
        play = Play(purpose, noise_share=1.0, noise_alpha=0.05, simulations=8)
        await play.agent.on_start(None)
        return [await play.tick(after()) for _ in range(30)]

    # Eight simulations without noise try every column once or twice; such noise leaves a few of them.
    trained, played = await actions(Purpose.TRAIN), await actions(Purpose.PLAY)
    assert trained != played
    assert np.bincount(played, minlength=7).max() < 16


async def test_a_board_that_no_game_shows_is_refused() -> None:
    play = Play()
    await play.agent.on_start(None)
    planes = np.zeros((2, 6, 7))
    planes[0, 3, 0] = 1
    with pytest.raises(BadPayloadError, match="hangs in the air"):
        await play.agent.on_tick({"observation": planes.tolist()})


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"simulations": 0}, "simulations, batch and virtual_loss are at least 1"),
        ({"depth": 3}, "unexpected keyword argument 'depth'"),
        ({"temperature": -1}, "temperature is -1; allowed is at least 0"),
    ],
)
def test_settings_that_make_no_search_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(SparringError, match=message):
        Play(**wrong)


def test_a_position_that_nobody_has_is_refused() -> None:
    with pytest.raises(PluginError, match="has no"):
        Play(position="app.games.connect_four.rules:Nowhere")
