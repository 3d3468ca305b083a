"""Games with nested observations and actions, masks and a recurrent state, from JSON to rows, by the real table."""

import asyncio
import warnings
from collections import Counter
from typing import Any

import numpy as np
import orjson
import pytest

from app.agents.agent import AgentContext
from app.agents.gym_agent import GymAgent
from app.agents.outbox import Outbox
from app.agents.unroll import Unroll
from app.errors import StepError
from app.models.module import to_arrays
from app.models.placement import LocalModel
from app.models.torch_engine import TorchEngine
from app.replay.fifo import Fifo
from app.replay.rows import empty_batch, row_dtypes
from app.seeding import Draws, derive
from app.sessions.blackboard import Board
from app.sessions.game import Game
from app.sessions.snapshot import restore_session, save_session
from app.sessions.table import Limits, SessionTable
from app.types import Arrays, Purpose, RowKind, Rows, SessionId, StepKind, Version
from app.wire.steps import StepRequest
from tests.small_policy import Adder

UNROLL_TICKS = 4
MASK = {"go": None, "pick": [[1, 0, 1], None]}


class Replica:
    """An actor replica without Ray, whose model carries the sum of what it has seen."""

    def __init__(self) -> None:
        engine = TorchEngine(Adder())
        engine.load(Version(1, 1), to_arrays(Adder()))
        self.model = LocalModel(engine, self._no_older_weights)
        self.outbox = Outbox(self.model.spec, 10_000, lambda: None)
        limits = Limits(max_games=100, idle_timeout_s=1000, step_timeout_s=20)
        clock = asyncio.get_running_loop().time
        self.table = SessionTable(self._make, limits, Purpose.TRAIN, lambda: "minted", clock, Counter())
        self._episodes = 0

    async def step(self, kind: StepKind, session: SessionId, value: Any = None) -> Any:
        """Sends JSON and returns the JSON of the answer."""
        body = b"" if value is None else orjson.dumps(value)
        reply = await self.table.step(StepRequest(session, kind, body))
        return orjson.loads(reply.body) if reply.body else None

    async def tick(self, session: SessionId, t: int, **more: Any) -> Any:
        return await self.step(StepKind.TICK, session, tick_of(t) | more)

    async def stop(self, session: SessionId, t: int) -> None:
        await self.step(StepKind.STOP, session, tick_of(t) | {"terminated": True})

    def _make(self, session: SessionId, purpose: Purpose, board: Board) -> GymAgent:
        self._episodes += 1
        unroll = Unroll(self._episodes, UNROLL_TICKS, self.outbox.add)
        draws = Draws(derive(0, session))
        return GymAgent(AgentContext(session, purpose, draws, self.model, unroll, lambda *_: None, board))

    async def _no_older_weights(self, version: Version) -> Arrays:
        raise AssertionError(f"nobody asked for {version}")


def tick_of(t: int) -> dict[str, Any]:
    return {"observation": {"step": [t + 1], "seen": [[t, 255 - t], 0.5]}, "reward": t}


def column(rows: Rows, name: str) -> list[Any]:
    found: list[Any] = rows[name].tolist()
    return found


async def played(ticks: int, session: SessionId = "game") -> tuple[Replica, list[Any]]:
    replica = Replica()
    await replica.step(StepKind.START, session)
    answers = [await replica.tick(session, t, action_mask=MASK) for t in range(ticks)]
    return replica, answers


async def test_an_answer_is_the_nested_action_as_json() -> None:
    _, answers = await played(3)
    for answer in answers:
        action = answer["action"]
        assert sorted(action) == ["go", "pick"]
        assert [type(number) for number in action["go"]] == [float, float]
        assert action["pick"][0] in (0, 2)
        assert action["pick"][1] in (0, 1)


async def test_rows_hold_the_state_before_each_tick_and_the_bootstrap_row_the_one_behind_the_last() -> None:
    replica, answers = await played(6)
    await replica.stop("game", 6)
    rows = replica.outbox.take()
    assert column(rows, "kind") == [0, 0, 0, 0, RowKind.FULL, 0, 0, RowKind.TERMINATED]
    assert column(rows, "state/sum") == [[0], [1], [3], [6], [10], [10], [15], [21]]
    assert column(rows, "state/ticks/0") == [0, 1, 2, 3, 4, 4, 5, 6]
    assert column(rows, "observation/step") == [[1], [2], [3], [4], [5], [5], [6], [7]]
    assert column(rows, "observation/seen/0")[-1] == [6, 249]
    assert column(rows, "value")[:4] == [0, 1, 3, 6]  # Of the state before the tick, as the model saw it.
    # The stop says nothing of what would be allowed behind it: everything is.
    assert column(rows, "action_mask/pick/0") == [[1, 0, 1]] * 7 + [[1, 1, 1]]
    assert column(rows, "action_mask/pick/1") == [[1, 1]] * 8
    assert "action_mask/go" not in rows
    steps = [at for at, kind in enumerate(column(rows, "kind")) if kind == RowKind.STEP]
    np.testing.assert_allclose(rows["action/go"][steps], [answer["action"]["go"] for answer in answers], rtol=1e-6)
    assert rows["action/pick/0"][steps].tolist() == [answer["action"]["pick"][0] for answer in answers]


async def test_a_game_that_ends_without_its_last_observation_bootstraps_from_a_state_that_fits() -> None:
    replica, _ = await played(3)
    await replica.step(StepKind.STOP, "game", {"truncated": True})
    rows = replica.outbox.take()
    assert column(rows, "state/sum") == [[0], [1], [3]]
    assert column(rows, "observation/step") == [[1], [2], [3]]


@pytest.mark.parametrize("again", [StepKind.STOP, StepKind.START])
async def test_a_new_episode_begins_with_zeros(again: StepKind) -> None:
    replica, _ = await played(3)
    if again is StepKind.STOP:
        await replica.stop("game", 3)
    await replica.step(StepKind.START, "game")
    replica.outbox.take()
    for t in range(2):
        await replica.tick("game", t)
    await replica.stop("game", 2)
    assert column(replica.outbox.take(), "state/sum") == [[0], [1], [3]]


async def test_games_of_one_batch_keep_their_own_states() -> None:
    replica = Replica()
    for number in range(8):
        await replica.step(StepKind.START, f"game-{number}")
    for t in range(3):
        before = replica.model.queue.batches
        await asyncio.gather(*(replica.tick(f"game-{n}", t, observation=shown(n)) for n in range(8)))
        assert replica.model.queue.batches == before + 1
    for number in range(8):
        await replica.stop(f"game-{number}", 3)
    sums = replica.outbox.take()["state/sum"].reshape(8, 4)
    assert sorted(sums.tolist()) == [[0, n, 2 * n, 3 * n] for n in range(8)]


def shown(number: int) -> dict[str, Any]:
    return {"step": [number], "seen": [[0, 0], 0]}


@pytest.mark.parametrize("at", [1, 3, 4, 5])
async def test_a_game_that_moves_is_the_game_that_stays(at: int) -> None:
    stayed, _ = await played(7)
    await stayed.stop("game", 7)
    before, _ = await played(at)
    after = await moved(before, at, crashed=False)
    expected = stayed.outbox.take()
    found = [replica.outbox.take() for replica in (before, after) if len(replica.outbox)]
    for name in expected:
        if name != "episode":
            np.testing.assert_array_equal(np.concatenate([rows[name] for rows in found]), expected[name], name)


async def test_a_game_that_goes_on_from_a_snapshot_has_the_state_of_the_snapshot() -> None:
    before, _ = await played(3)
    rows = (await moved(before, 3, crashed=True)).outbox.take()
    assert column(rows, "state/sum")[-5:] == [[6], [10], [15], [21], [28]]
    assert column(rows, "observation/step")[-5:] == [[4], [5], [6], [7], [8]]


async def moved(before: Replica, at: int, *, crashed: bool) -> Replica:
    """Returns the replica in which the game went on to its end."""
    after = Replica()
    saved = save_session(before.table.sessions["game"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # Torch warns of arrays that must not be written.
        await restore_session(after.table, Game("game"), saved.data, crashed=crashed)
        for t in range(at, 7):
            await after.tick("game", t, action_mask=MASK)
    await after.stop("game", 7)
    return after


BAD: list[tuple[dict[str, Any], str]] = [
    ({"observation": {"step": [1]}}, r"observation is not nested as the model takes it \(seen/0, seen/1, step\)"),
    ({"observation": {"step": [1], "seen": [[0, 0]]}}, "observation is not nested"),
    ({"observation": {"step": [1], "seen": [[0, 0, 0], 0]}}, r"observation/seen/0 has shape \(3,\)"),
    ({"observation": {"step": [1], "seen": [[0, 256], 0]}}, "observation/seen/0 is not an array of uint8"),
    ({"action_mask": {"go": [1], "pick": [None, None]}}, "action_mask/go is .*allowed"),
    ({"action_mask": {"go": None, "pick": [[1, 0], None]}}, r"action_mask/pick/0 is \[1, 0\]; allowed are 3 flags"),
    ({"action_mask": {"pick": [None, None]}}, "action_mask is not nested"),
    ({"action_mask": [1, 1]}, "action_mask is not nested"),
]


@pytest.mark.parametrize(("change", "message"), BAD)
async def test_a_bad_tick_is_refused_by_the_name_of_its_part_and_costs_nothing(
    change: dict[str, Any], message: str
) -> None:
    replica, _ = await played(2)
    with pytest.raises(StepError, match=message):
        await replica.step(StepKind.TICK, "game", tick_of(2) | change)
    await replica.tick("game", 2)
    await replica.stop("game", 3)
    rows = replica.outbox.take()
    assert column(rows, "state/sum") == [[0], [1], [3], [6]]
    assert column(rows, "reward") == [1, 2, 3, 0]


async def test_nested_rows_are_split_and_padded_as_others_are() -> None:
    replica, _ = await played(6)
    await replica.stop("game", 6)
    rows = replica.outbox.take()
    assert {name: (x.dtype, x.shape[1:]) for name, x in rows.items()} == row_dtypes(replica.model.spec)
    empty = empty_batch(replica.model.spec, 3)
    assert {name: (x.dtype, x.shape[1:]) for name, x in empty.items()} == row_dtypes(replica.model.spec)
    assert empty["action_mask/pick/0"].all()
    fifo = Fifo(100, 3)
    fifo.insert(rows)
    first, second = fifo.pop(3), fifo.pop(3)
    assert first is not None
    assert second is not None
    assert column(first, "kind") == [0, 0, RowKind.FULL]
    assert column(first, "state/sum") == [[0], [1], [3]]
    assert column(second, "state/sum") == [[3], [6], [10]]
    assert second["observation/seen/0"][0].tolist() == [2, 253]
