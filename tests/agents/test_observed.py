import asyncio
from collections import Counter

from app.agents.agent import Agent, AgentContext
from app.agents.observed import Observed
from app.seeding import Draws
from app.sessions.blackboard import Board
from app.sessions.game import Game
from app.sessions.session import EndCause
from app.types import Purpose
from app.wire.payload import Payload
from app.wire.trees import pack, unpack


class Player(Agent):
    total = 0

    async def on_tick(self, payload: Payload) -> Payload:
        assert isinstance(payload, int)
        self.total = self.total + payload
        self.context.board.put("total", self.total)
        return self.total

    def on_deadline(self, payload: Payload) -> Payload:
        return "late"


class Watcher(Agent):
    def __init__(self, context: AgentContext) -> None:
        super().__init__(context)
        self.seen: list[object] = []

    async def on_tick(self, payload: Payload) -> Payload:
        if payload == 13:
            raise RuntimeError("unlucky")
        self.seen.append([payload, await self.context.board.wait("total")])
        return "nobody hears this"

    async def on_episode(self, payload: Payload, cause: EndCause) -> Payload:
        self.seen.append(str(cause))
        return None


def context() -> AgentContext:
    return AgentContext("s", Purpose.PLAY, Draws(1), None, None, lambda *_: None, Board(Game("s"), "s", 0.05))


def observed() -> tuple[Observed, Watcher, Counter[str]]:
    one, counts = context(), Counter[str]()
    watcher = Watcher(one)
    return Observed(Player(one), [watcher], "s", counts), watcher, counts


async def test_observers_see_each_tick_with_what_the_player_made_of_it() -> None:
    agent, watcher, _ = observed()
    assert await agent.on_start(None) is None
    assert [await agent.on_tick(tick) for tick in (1, 2)] == [1, 3]
    await agent.on_episode("over", EndCause.STOP)
    assert watcher.seen == [[1, 1], [2, 3], "stop"]
    assert agent.on_deadline(None) == "late"


async def test_an_observer_that_fails_spoils_nothing() -> None:
    agent, watcher, counts = observed()
    assert [await agent.on_tick(tick) for tick in (13, 13, 1)] == [13, 26, 27]
    assert watcher.seen == [[1, 27]]
    assert counts == {"observer_errors": 2}


async def test_all_of_them_move_together() -> None:
    agent, _, _ = observed()
    await agent.on_tick(5)
    other, watcher, _ = observed()
    await other.load_state_dict(unpack(pack(agent.state_dict())))
    assert await other.on_tick(2) == 7
    assert watcher.seen == [[5, 5], [2, 7]]


async def test_an_observer_that_is_too_late_is_cancelled_with_the_tick() -> None:
    class Stuck(Watcher):
        async def on_tick(self, payload: Payload) -> Payload:
            await asyncio.Event().wait()
            return None

    one = context()
    agent = Observed(Player(one), [Stuck(one)], "s", Counter())
    tick = asyncio.create_task(agent.on_tick(1))
    await asyncio.sleep(0)
    tick.cancel()
    (outcome,) = await asyncio.gather(tick, return_exceptions=True)
    assert isinstance(outcome, asyncio.CancelledError)
