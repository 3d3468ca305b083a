from collections import Counter

import numpy as np
import pytest

from app.agents.agent import Agent, AgentContext
from app.agents.steady import CHANGED_EARLY, GameWeights, SteadyAgent, SteadyModel
from app.errors import BadPayloadError, ModelMismatchError, SnapshotError
from app.models.module import to_arrays
from app.models.placement import LocalModel
from app.models.question import GREEDY, Question
from app.models.torch_engine import TorchEngine
from app.models.versions import Bound
from app.seeding import Draws
from app.sessions.blackboard import Board
from app.sessions.game import Game
from app.sessions.session import EndCause
from app.types import Arrays, Purpose, Version
from app.wire.payload import Payload
from tests.small_policy import small_policy

OBSERVATION = np.array([1, -2], np.float32)


def v(number: int) -> Version:
    return Version(1, number)


class Player(Agent):
    """Answers with the version that its model answered by."""

    async def on_tick(self, payload: Payload) -> Payload:
        assert self.context.model is not None
        decision = await self.context.model.decide(Question(OBSERVATION, GREEDY))
        self.version = decision.version
        return str(decision.version)

    async def on_episode(self, payload: Payload, cause: EndCause) -> Payload:
        if payload == "refused":
            raise BadPayloadError("a stop is a mapping")
        return None


class Replica:
    """One replica's model and games."""

    def __init__(self, every_ticks: int | None, most: int = 8, lost: bool = False) -> None:
        self.model = LocalModel(TorchEngine(small_policy(0), bound=Bound(most)), self._fetch)
        self.games = GameWeights()
        self.counts: Counter[str] = Counter()
        self._every_ticks = every_ticks
        self._lost = lost

    async def _fetch(self, version: Version) -> Arrays:
        if self._lost:
            raise ModelMismatchError(f"weights {version} are no longer kept")
        return to_arrays(small_policy(version.number))

    def publish(self, number: int) -> None:
        self.model.engine.load(v(number), to_arrays(small_policy(number)))

    def agent(self, game: str = "g", frozen: Version | None = None) -> SteadyAgent:
        steady = SteadyModel(self.model)
        context = AgentContext(
            session=game, purpose=Purpose.TRAIN, rng=Draws(0), model=steady, unroll=None,
            report=lambda *_: None, board=Board(Game(game), game, 1.0),
        )  # fmt: skip
        return SteadyAgent(Player(context), steady, self._every_ticks, game, self.games, self.counts, frozen)

    def held(self) -> dict[Version, int]:
        return dict(self.model.engine._versions._holds)


async def started(agent: SteadyAgent) -> SteadyAgent:
    await agent.on_start(None)
    return agent


async def test_a_game_keeps_the_weights_of_its_start_and_lets_them_go_at_its_end() -> None:
    replica = Replica(None)
    replica.publish(1)
    first = await started(replica.agent("one"))
    for number in range(2, 20):  # More than the replica keeps.
        replica.publish(number)
        assert await first.on_tick(None) == "1.1"
    second = await started(replica.agent("two"))
    assert await second.on_tick(None) == "1.19"
    assert replica.held() == {v(1): 1, v(19): 1}
    assert (first.version, second.version) == (v(1), v(19))
    for agent in (first, second):
        await agent.on_episode(None, EndCause.STOP)
    assert replica.held() == {}
    assert replica.games.of("one") is None


async def test_a_side_that_joins_a_game_later_plays_with_the_games_weights() -> None:
    replica = Replica(None)
    replica.publish(1)
    one = await started(replica.agent("match"))
    replica.publish(2)
    two = await started(replica.agent("match"))
    assert await two.on_tick(None) == "1.1"
    await one.on_episode(None, EndCause.IDLE)
    three = await started(replica.agent("match"))
    assert await three.on_tick(None) == "1.1"
    for agent in (two, three):
        await agent.on_episode(None, EndCause.STOP)
    assert await (await started(replica.agent("match"))).on_tick(None) == "1.2"


@pytest.mark.parametrize("every_ticks", [2, 3, 5])
async def test_a_session_takes_newer_weights_at_multiples_alone(every_ticks: int) -> None:
    replica = Replica(every_ticks)
    agent = replica.agent()
    replica.publish(1)
    await agent.on_start(None)
    answers = []
    for tick in range(12):
        replica.publish(100 + tick)
        answers.append(await agent.on_tick(None))
    at = [tick // every_ticks * every_ticks for tick in range(12)]
    assert answers == ["1.1" if tick == 0 else f"1.{100 + tick}" for tick in at]
    assert len(replica.held()) == 1
    await agent.on_episode(None, EndCause.STOP)
    assert replica.held() == {}


async def test_a_step_without_a_session_is_answered_by_the_newest_weights_and_holds_none() -> None:
    replica = Replica(None)
    replica.publish(4)
    assert await replica.agent().on_tick(None) == "1.4"
    assert replica.held() == {}


async def test_a_stop_that_is_refused_leaves_the_game_its_weights() -> None:
    replica = Replica(None)
    replica.publish(1)
    agent = await started(replica.agent())
    replica.publish(2)
    with pytest.raises(BadPayloadError):
        await agent.on_episode("refused", EndCause.STOP)
    assert await agent.on_tick(None) == "1.1"
    with pytest.raises(BadPayloadError):
        await agent.on_episode("refused", EndCause.IDLE)
    assert replica.held() == {}


async def test_many_games_hold_no_more_versions_than_are_allowed() -> None:
    replica = Replica(None, most=2)
    for number in range(1, 6):
        replica.publish(number)
        await started(replica.agent(f"game {number}"))
    assert replica.held() == {v(1): 1, v(2): 4}


@pytest.mark.parametrize(("every_ticks", "later"), [(None, "1.1"), (4, "1.1")])
async def test_a_game_that_moves_goes_on_with_its_weights(every_ticks: int | None, later: str) -> None:
    old, new = Replica(every_ticks), Replica(every_ticks)
    old.publish(1)
    agent = await started(old.agent())
    await agent.on_tick(None)
    new.publish(2)
    moved = new.agent()
    await moved.load_state_dict(agent.state_dict())
    assert [await moved.on_tick(None) for _ in range(3)] == [later] * 3
    assert await moved.on_tick(None) == ("1.1" if every_ticks is None else "1.2")
    await moved.on_episode(None, EndCause.STOP)
    assert (new.held(), new.counts) == ({}, {})


async def test_a_game_that_moves_after_its_weights_are_gone_goes_on_with_the_newest_and_is_counted() -> None:
    old, new = Replica(None), Replica(None, lost=True)
    old.publish(1)
    agent = await started(old.agent())
    new.publish(2)
    moved = new.agent()
    await moved.load_state_dict(agent.state_dict())
    assert await moved.on_tick(None) == "1.2"
    assert new.counts == {CHANGED_EARLY: 1}


@pytest.mark.parametrize("state", [None, {}, {"agent": {}, "held": None, "ticks": "many"}])
async def test_what_is_no_state_of_a_steady_agent_is_refused(state: object) -> None:
    with pytest.raises(SnapshotError, match="agent, held and ticks"):
        await Replica(None).agent().load_state_dict(state)  # type: ignore[arg-type]


async def test_what_the_agent_asks_for_itself_is_its_own_version() -> None:
    replica = Replica(None)
    replica.publish(1)
    steady = SteadyModel(replica.model)
    await steady.hold(None)
    replica.publish(2)
    assert await steady.ensure(None) == v(1)
    assert await steady.ensure(v(2)) == v(2)

    def ask(version: Version | None) -> Question:
        return Question(OBSERVATION, GREEDY, None, version)

    assert (await steady.decide(ask(v(2)))).version == v(2)
    assert (await steady.decide(ask(None))).version == v(1)
    assert (await steady.forward(OBSERVATION)).version == v(1)


async def test_frozen_weights_play_the_whole_game_and_are_not_those_of_the_others() -> None:
    replica = Replica(None)
    replica.publish(1)
    frozen = await started(replica.agent("one", Version(0, 77)))
    trained = await started(replica.agent("one"))
    replica.publish(2)
    assert [await agent.on_tick(None) for agent in (frozen, trained)] == ["0.77", "1.1"]
    moved = replica.agent("one", Version(0, 77))
    await moved.load_state_dict(frozen.state_dict())
    assert await moved.on_tick(None) == "0.77"


async def test_nobody_else_plays_in_place_of_frozen_weights_that_are_gone() -> None:
    state = (await started(Replica(None).agent("one", Version(0, 77)))).state_dict()
    with pytest.raises(SnapshotError, match=r"the frozen weights 0\.77 are not there"):
        await Replica(None, lost=True).agent("one", Version(0, 77)).load_state_dict(state)
