import asyncio
import random

import pytest

from app.errors import (
    AgentError,
    BadPayloadError,
    BadRequestError,
    DeadlineExceededError,
    DrainingError,
    GameElsewhereError,
    OverloadedError,
    SeqGapError,
    SessionExistsError,
    SessionUnknownError,
    StaleSeqError,
    StepError,
)
from app.sessions.session import GAP_WAIT_S, WAITING_MAX, EndCause, Session
from app.sessions.stopped import STOPPED_KEPT, STOPPED_KEPT_S
from app.types import Purpose, SessionId
from app.wire.steps import JsonBody, StepReply

from .fake_agent import FakeAgent, Table, turns


async def failure_of(step: "asyncio.Task[object]") -> BaseException | None:
    await asyncio.wait([step])
    return step.exception()


async def test_a_game_from_start_to_stop() -> None:
    table = Table()
    started = await table.step("start", "s", JsonBody({"level": 2}))
    assert started == StepReply("s", b'{"echo":{"level":2}}', 0, is_json=True)
    assert [await table.tick(number) for number in (1, 2)] == [{"echo": 1}, {"echo": 2}]
    assert (await table.stop()).seq == 3
    agent = table.agent("s")
    assert agent.calls == [("start", {"level": 2}), ("tick", 1), ("tick", 2), ("end", "over")]
    assert agent.ends == [EndCause.STOP]
    assert len(table.table) == 0
    assert table.counts == {"starts": 1, "ticks_train": 2, "stops": 1}


async def test_a_start_without_a_session_mints_one() -> None:
    table = Table()
    replies = [await table.start("") for _ in range(2)]
    assert [reply.session for reply in replies] == ["minted-1", "minted-2"]
    assert await table.tick(1, "minted-2") == {"echo": 1}


async def test_the_purpose_is_the_starts_or_the_services() -> None:
    table = Table()
    await table.step("start", "a")
    await table.step("start", "b", purpose=Purpose.EVALUATE)
    await table.tick(1, "b")
    assert (table.agent("a").purpose, table.agent("b").purpose) == (Purpose.TRAIN, Purpose.EVALUATE)
    assert table.counts["ticks_evaluate"] == 1
    assert table.counts["ticks_train"] == 0


@pytest.mark.parametrize("kind", ["tick", "stop"])
async def test_a_step_never_creates_a_session(kind: str) -> None:
    table = Table()
    with pytest.raises(SessionUnknownError, match="session 'who' was not started here"):
        await table.step(kind, "who")
    assert table.made == []
    assert table.counts == {"session_unknown": 1}


async def test_a_stateless_step_leaves_nothing_behind() -> None:
    table = Table()
    reply = await table.step("auto", "", JsonBody(5))
    assert reply.body == b'{"echo":5}'
    assert table.made[0].purpose is Purpose.PLAY
    assert len(table.table) == 0
    assert table.counts == {"autos": 1}


# Sequence numbers


async def test_a_repeated_tick_gets_its_first_reply_and_is_not_run_again() -> None:
    table = Table()
    await table.start(seq=0)
    first = await table.tick(1, seq=1)
    table.agent("s").answer = {"other": True}
    assert await table.tick(1, seq=1) == first
    assert table.agent("s").ticks == [1]
    assert table.counts["ticks_train"] == 1


async def test_a_repetition_of_a_running_tick_joins_it() -> None:
    table = Table()
    await table.start()
    agent = table.agent("s")
    agent.gate = asyncio.Event()
    steps = [asyncio.create_task(table.tick(1, seq=1)) for _ in range(3)]
    await turns()
    agent.gate.set()
    assert await asyncio.gather(*steps) == [{"echo": 1}] * 3
    assert agent.ticks == [1]


async def test_numbers_that_are_too_old_or_too_new_are_refused_and_change_nothing() -> None:
    table = Table()
    await table.start(seq=0)
    for number in range(1, 12):
        await table.tick(number, seq=number)
    with pytest.raises(StaleSeqError):
        await table.tick(3, seq=3)
    with pytest.raises(SeqGapError):
        await table.tick(13, seq=13)
    assert await table.tick(12, seq=12) == {"echo": 12}
    assert table.agent("s").ticks == list(range(1, 13))
    assert (table.counts["stale_seq"], table.counts["seq_gap"]) == (1, 1)


async def test_a_tick_that_failed_may_be_repeated_under_its_number() -> None:
    table = Table()
    await table.start()
    agent = table.agent("s")
    agent.failure = BadPayloadError("no observation")
    with pytest.raises(BadPayloadError):
        await table.tick(1, seq=1)
    agent.failure = None
    assert await table.tick(1, seq=1) == {"echo": 1}
    assert agent.ticks == [1]
    assert table.counts["ticks_train"] == 1


# Order


async def test_pipelined_ticks_of_one_session_run_one_by_one_in_their_order() -> None:
    source = random.Random(0)  # noqa: S311  # A test, not a secret.
    answered: list[int] = []
    agents: list[FakeAgent] = []

    class Slow(FakeAgent):
        async def on_tick(self, payload: object) -> object:  # type: ignore[override]
            self.gate = asyncio.Event()
            asyncio.get_running_loop().call_later(source.random() / 1000, self.gate.set)
            return await super().on_tick(payload)  # type: ignore[arg-type]

    table = Table(make=Slow)

    async def play(session: str, number: int) -> None:
        await table.tick(number, session)
        answered.append(number)

    for session in "ab":
        await table.start(session)
        agents.append(table.agent(session))
    await asyncio.gather(*(play("ab"[number % 2], number) for number in range(100)))
    assert [agent.ticks for agent in agents] == [list(range(0, 100, 2)), list(range(1, 100, 2))]
    assert not any(agent.overlapped for agent in agents)
    assert [n for n in answered if n % 2 == 0] == list(range(0, 100, 2))
    assert [n for n in answered if n % 2 == 1] == list(range(1, 100, 2))
    assert answered != sorted(answered)  # Two sessions do not wait for each other.


async def test_a_game_does_not_wait_for_another() -> None:
    table = Table()
    await table.start("slow")
    await table.start("quick")
    table.agent("slow").gate = asyncio.Event()
    slow = asyncio.create_task(table.tick(1, "slow"))
    assert await table.tick(2, "quick") == {"echo": 2}
    table.agent("slow").gate.set()  # type: ignore[union-attr]
    assert await slow == {"echo": 1}


async def test_a_tick_behind_a_stop_finds_no_session() -> None:
    table = Table()
    await table.start()
    agent = table.agent("s")
    agent.gate = asyncio.Event()
    stop, tick = asyncio.create_task(table.stop()), asyncio.create_task(table.tick(1))
    await turns()
    agent.gate.set()
    await stop
    assert isinstance(await failure_of(tick), SessionUnknownError)
    assert agent.calls == [("start", None), ("end", "over")]


async def test_stop_start_and_tick_in_one_breath_play_two_games() -> None:
    table = Table()
    await table.start()
    await table.tick(1)
    old = table.agent("s")
    old.gate = asyncio.Event()
    steps = [
        asyncio.create_task(step)
        for step in (table.tick(2), table.stop(), table.start(), table.tick(10), table.tick(11))
    ]
    await turns()
    old.gate.set()
    await asyncio.gather(*steps)
    assert old.ticks == [1, 2]
    assert old.ends == [EndCause.STOP]
    assert table.agent("s").ticks == [10, 11]
    assert len(table.made) == 2


async def test_a_stop_repeated_while_it_runs_ends_the_game_once() -> None:
    table = Table()
    await table.start()
    agent = table.agent("s")
    agent.gate = asyncio.Event()
    stops = [asyncio.create_task(table.stop()) for _ in range(3)]
    await turns()
    agent.gate.set()
    first, *others = await asyncio.gather(*stops)
    assert others == [first, first]
    assert agent.ends == [EndCause.STOP]
    assert table.counts["stops"] == 1


# Starts again


async def test_a_start_repeated_before_the_first_tick_gets_the_same_reply() -> None:
    table = Table()
    table_reply = await table.step("start", "s", JsonBody({"level": 2}), seq=0)
    assert await table.step("start", "s", JsonBody({"level": 2}), seq=0) is table_reply
    assert await table.step("start", "s") is table_reply
    assert len(table.made) == 1
    assert table.counts["starts"] == 1


async def test_a_start_repeated_while_it_runs_joins_it() -> None:
    gate = asyncio.Event()

    def gated(session: SessionId, purpose: Purpose) -> FakeAgent:
        agent = FakeAgent(session, purpose)
        agent.gate = gate
        return agent

    table = Table(make=gated)
    starts = [asyncio.create_task(table.start()) for _ in range(3)]
    await turns()
    gate.set()
    first, *others = await asyncio.gather(*starts)
    assert others == [first, first]
    assert len(table.made) == 1


async def test_a_start_repeated_behind_one_that_fails_is_a_start_of_its_own() -> None:
    gate = asyncio.Event()

    def first_fails(session: SessionId, purpose: Purpose) -> FakeAgent:
        agent = FakeAgent(session, purpose)
        if not gate.is_set():
            agent.gate, agent.failure = gate, RuntimeError("no luck")
        return agent

    table = Table(make=first_fails)
    first, second = asyncio.create_task(table.start()), asyncio.create_task(table.start())
    await turns()
    gate.set()
    assert isinstance(await failure_of(first), AgentError)
    assert (await second).seq == 0
    assert await table.tick(1) == {"echo": 1}


async def test_a_start_without_a_number_closes_the_old_episode_as_restarted() -> None:
    table = Table()
    await table.start()
    await table.tick(1)
    old = table.agent("s")
    assert (await table.start()).seq == 0
    assert old.ends == [EndCause.RESTARTED]
    assert old.calls[-1] == ("end", None)
    assert table.agent("s") is not old
    assert await table.tick(2) == {"echo": 2}
    assert len(table.table) == 1
    assert table.counts["closed_restarted"] == 1


async def test_a_start_behind_the_first_tick_is_no_repetition_even_while_that_runs() -> None:
    table = Table()
    await table.start()
    old = table.agent("s")
    old.gate = asyncio.Event()
    tick, start = asyncio.create_task(table.tick(1)), asyncio.create_task(table.start())
    await turns()
    old.gate.set()
    assert await tick == {"echo": 1}
    await start
    assert old.ends == [EndCause.RESTARTED]


async def test_a_start_with_a_number_does_not_end_a_game_under_way() -> None:
    table = Table()
    await table.start(seq=0)
    await table.tick(1, seq=1)
    with pytest.raises(SessionExistsError, match="has played 1 steps"):
        await table.start(seq=0)
    assert await table.tick(2, seq=2) == {"echo": 2}
    assert table.agent("s").ends == []


async def test_a_restart_goes_on_though_the_old_agent_fails_at_its_end() -> None:
    table = Table()
    await table.start()
    await table.tick(1)
    table.agent("s").failure = RuntimeError("cannot end")
    await table.start()
    assert await table.tick(2) == {"echo": 2}
    assert table.counts["agent_error"] == 1


# Stops again


async def test_a_repeated_stop_gets_the_same_reply_for_a_while() -> None:
    table = Table()
    await table.start()
    reply = await table.stop(seq=1)
    table.now_s += STOPPED_KEPT_S
    await table.table.sweep()
    assert await table.stop(seq=1) is reply
    assert "s" in table.table
    table.now_s += 1
    await table.table.sweep()
    with pytest.raises(SessionUnknownError):
        await table.stop(seq=1)
    assert "s" not in table.table


async def test_a_stopped_session_takes_no_tick_and_may_be_started_anew() -> None:
    table = Table()
    await table.start()
    await table.stop()
    with pytest.raises(SessionUnknownError):
        await table.tick(1)
    await table.start()
    assert await table.tick(2) == {"echo": 2}
    assert len(table.made) == 2
    assert (await table.stop()).seq == 2


async def test_so_many_last_replies_are_kept() -> None:
    table = Table(max_games=2)
    for number in range(STOPPED_KEPT + 1):
        await table.start(str(number))
        await table.stop(str(number))
    with pytest.raises(SessionUnknownError):
        await table.stop("0")
    assert (await table.stop("1")).seq == 1


# Idle games


async def test_a_game_without_a_step_for_too_long_is_closed() -> None:
    table = Table(idle_timeout_s=60)
    await table.start("idle")
    table.now_s += 30
    await table.start("fresh")
    table.now_s += 30
    await table.table.sweep()
    assert set(table.table.sessions) == {"fresh"}
    assert table.agent("idle").ends == [EndCause.IDLE]
    assert table.agent("idle").calls[-1] == ("end", None)
    assert table.counts["closed_idle"] == 1
    with pytest.raises(SessionUnknownError):
        await table.tick(1, "idle")


async def test_every_step_is_a_use() -> None:
    table = Table(idle_timeout_s=60)
    await table.start(seq=0)
    for number in (1, 2, 2):  # The last is a repetition.
        table.now_s += 50
        await table.tick(number, seq=number)
        await table.table.sweep()
    assert len(table.table) == 1


async def test_a_game_is_not_idle_while_its_step_runs_nor_right_after_it() -> None:
    table = Table(idle_timeout_s=60)
    await table.start()
    agent = table.agent("s")
    agent.gate = asyncio.Event()
    tick = asyncio.create_task(table.tick(1))
    await turns()
    table.now_s += 1000
    await asyncio.wait_for(table.table.sweep(), 5)
    agent.gate.set()
    assert await tick == {"echo": 1}
    await table.table.sweep()
    assert agent.ends == []
    assert await table.tick(2) == {"echo": 2}


async def test_a_game_is_not_idle_while_it_waits_for_a_slow_start() -> None:
    gate = asyncio.Event()

    async def claim(_session: str) -> None:
        await gate.wait()

    table = Table(idle_timeout_s=60, claim=claim)
    start = asyncio.create_task(table.start())
    await turns()
    table.now_s += 1000
    await table.table.sweep()
    gate.set()
    await start
    await table.table.sweep()
    assert await table.tick(1) == {"echo": 1}


async def test_a_game_that_is_used_while_others_are_closed_is_not_closed() -> None:
    table = Table(idle_timeout_s=60)
    await table.start("first")
    await table.start("second")
    table.agent("first").gate = gate = asyncio.Event()
    table.now_s += 100
    sweep = asyncio.create_task(table.table.sweep())
    await table.agent("first").entered.wait()
    await turns()
    assert await table.tick(1, "second") == {"echo": 1}
    gate.set()
    await sweep
    assert set(table.table.sessions) == {"second"}
    assert table.agent("second").ends == []


async def test_an_agent_that_fails_at_its_end_does_not_keep_others_from_theirs() -> None:
    table = Table(idle_timeout_s=60)
    for session in "abc":
        await table.start(session)
    table.agent("a").failure = RuntimeError("cannot end")
    table.now_s += 100
    await table.table.sweep()
    assert len(table.table) == 0
    assert table.agent("b").ends == table.agent("c").ends == [EndCause.IDLE]
    assert table.counts["closed_idle"] == 3
    assert table.counts["agent_error"] == 1


async def test_an_agent_that_never_ends_does_not_keep_others_from_their_end() -> None:
    table = Table(idle_timeout_s=60, step_timeout_s=0.2)
    for session in "ab":
        await table.start(session)
    table.agent("a").gate = asyncio.Event()
    table.now_s += 100
    await asyncio.wait_for(table.table.sweep(), 5)
    assert table.agent("b").ends == [EndCause.IDLE]
    assert len(table.table) == 0


# Admission, drain, deadlines


async def test_a_start_beyond_the_limit_is_overloaded_until_a_game_ends() -> None:
    table = Table(max_games=2)
    await table.start("a")
    await table.start("b")
    with pytest.raises(OverloadedError, match="2 games are open, as many as are allowed"):
        await table.start("c")
    assert await table.tick(1, "a") == {"echo": 1}
    await table.stop("b")
    await table.start("c")
    assert set(table.table.sessions) == {"a", "c"}
    assert table.counts["overloaded"] == 1


async def test_a_full_table_lets_a_session_start_anew() -> None:
    table = Table(max_games=1)
    await table.start("a")
    await table.tick(1, "a")
    await table.start("a")
    assert table.agent("a").ticks == []


async def test_steps_that_fail_use_no_place_up() -> None:
    broken = True

    def make(session: SessionId, purpose: Purpose) -> FakeAgent:
        if broken and session.startswith("unmade"):
            raise BadRequestError("no such agent")
        agent = FakeAgent(session, purpose)
        agent.failure = RuntimeError("broken") if broken and not session.startswith("stop") else None
        return agent

    table = Table(max_games=4, make=make)

    async def play(session: str) -> None:
        await table.start(session)
        table.agent(session).failure = RuntimeError("broken")
        await table.stop(session)

    for number in range(40):
        for name, error in (("unmade", BadRequestError), ("start", AgentError), ("stop", AgentError)):
            with pytest.raises(error):
                await play(f"{name}{number}")
        with pytest.raises(SessionUnknownError):
            await table.tick(1, f"never{number}")
        with pytest.raises(AgentError):
            await table.step("auto", "", JsonBody(1))
    broken = False
    for session in "abcd":
        await table.start(session)
        assert await table.tick(1, session) == {"echo": 1}
    with pytest.raises(OverloadedError):
        await table.start("e")


async def test_a_broken_tick_keeps_its_game() -> None:
    table = Table()
    await table.start()
    table.agent("s").failure = RuntimeError("once")
    with pytest.raises(AgentError, match="the agent failed: RuntimeError: once"):
        await table.tick(1)
    table.agent("s").failure = None
    assert await table.tick(2) == {"echo": 2}


async def test_a_stop_that_was_refused_may_be_repeated() -> None:
    table = Table()
    await table.start()
    table.agent("s").failure = BadPayloadError("no reward")
    with pytest.raises(BadPayloadError):
        await table.stop()
    table.agent("s").failure = None
    assert (await table.stop()).seq == 1


async def test_a_draining_table_ends_its_games_and_takes_no_new_ones() -> None:
    table = Table()
    for session in "abc":
        await table.start(session)
    table.agent("b").failure = RuntimeError("cannot end")
    assert await table.table.end_all() == 3
    assert [table.agent(session).ends for session in "abc"] == [[EndCause.SHUTDOWN]] * 3
    assert len(table.table) == 0
    with pytest.raises(DrainingError):
        await table.start("d")
    with pytest.raises(SessionUnknownError):
        await table.tick(1, "a")


async def test_a_drain_lets_a_running_step_end() -> None:
    table = Table()
    await table.start()
    agent = table.agent("s")
    agent.gate = asyncio.Event()
    tick = asyncio.create_task(table.tick(1))
    await turns()
    drain = asyncio.create_task(table.table.end_all())
    await turns()
    agent.gate.set()
    assert await tick == {"echo": 1}
    assert await drain == 1
    assert agent.calls == [("start", None), ("tick", 1), ("end", None)]


async def test_a_step_that_takes_too_long_is_ended_and_the_game_goes_on() -> None:
    table = Table(step_timeout_s=0.2)
    await table.start()
    agent = table.agent("s")
    agent.gate = asyncio.Event()
    with pytest.raises(DeadlineExceededError, match=r"tick of session 's' took longer than 0\.2 s"):
        await table.tick(1, seq=1)
    agent.gate.set()
    assert await table.tick(1, seq=1) == {"echo": 1}
    assert agent.ticks == [1]
    assert table.counts["deadline_exceeded"] == 1


async def test_a_step_may_ask_for_less_time_but_not_for_more() -> None:
    table = Table(step_timeout_s=0.05)
    await table.start()
    table.agent("s").gate = asyncio.Event()
    with pytest.raises(DeadlineExceededError, match=r"longer than 0\.01 s"):
        await table.step("tick", deadline_ms=10)
    with pytest.raises(DeadlineExceededError, match=r"longer than 0\.05 s"):
        await table.step("tick", deadline_ms=60_000)


async def test_a_step_that_waits_for_another_runs_out_of_time_without_running() -> None:
    table = Table()
    await table.start()
    agent = table.agent("s")
    agent.gate = asyncio.Event()
    first = asyncio.create_task(table.tick(1))
    await turns()
    with pytest.raises(DeadlineExceededError):
        await table.step("tick", "s", JsonBody(2), deadline_ms=10)
    agent.gate.set()
    await first
    assert agent.ticks == [1]


async def test_an_agents_own_time_out_is_its_failure() -> None:
    table = Table()
    await table.start()
    table.agent("s").failure = TimeoutError("the engine is slow")
    with pytest.raises(AgentError, match="TimeoutError: the engine is slow"):
        await table.tick(1)


async def test_an_agent_that_is_no_coroutine_is_a_failed_agent() -> None:
    class Plain(FakeAgent):
        def on_tick(self, payload: object) -> object:  # type: ignore[override]
            return {"action": 1}

    table = Table(make=Plain)
    await table.start()
    with pytest.raises(AgentError, match="TypeError"):
        await table.tick(1)


# Ownership


async def test_a_start_claims_its_session_before_the_agent_begins() -> None:
    claimed: list[tuple[str, int]] = []

    async def claim(game: str) -> int:
        claimed.append((game, len(table.made)))
        return 7

    table = Table(claim=claim)
    await table.start("a")
    assert claimed == [("a", 0)]
    assert table.table.sessions["a"].game.epoch == 7


async def test_sides_of_a_game_that_start_at_once_share_one_claim() -> None:
    claimed: list[str] = []

    async def claim(game: str) -> int:
        claimed.append(game)
        await turns()
        return len(claimed)

    table = Table(claim=claim)
    await asyncio.gather(table.start("g-agent-a"), table.start("g-agent-b"), table.start("g-agent-a"))
    assert claimed == ["g"]
    assert table.table.games.playing == 1
    assert table.counts["starts"] == 2


async def test_a_session_that_another_replica_holds_is_not_started() -> None:
    async def claim(game: str) -> int:
        raise GameElsewhereError(game, "b")

    table = Table(claim=claim)
    with pytest.raises(GameElsewhereError) as caught:
        await table.start("a")
    assert caught.value.owner == "b"
    assert (len(table.table), len(table.table.games), table.made) == (0, 0, [])
    assert table.counts == {}  # It is answered elsewhere: no error.


async def test_what_is_over_and_forgotten_is_let_go() -> None:
    async def claim(_game: str) -> int:
        return 7

    def make(session: SessionId, purpose: Purpose) -> FakeAgent:
        agent = FakeAgent(session, purpose)
        agent.failure = RuntimeError("broken") if session == "failed" else None
        return agent

    table = Table(claim=claim, idle_timeout_s=60, make=make)
    for session in ("idle-agent-a", "stopped", "open-agent-a", "open-agent-b"):
        await table.start(session)
    with pytest.raises(AgentError):
        await table.start("failed")
    await table.stop("stopped")
    games = table.table.games
    assert {game.id for game in games.all()} == {"idle", "stopped", "open"}
    assert games.playing == 2
    table.now_s += STOPPED_KEPT_S + 1
    await table.tick(1, "open-agent-a")
    await table.table.sweep()
    assert sorted(games.take_ended()) == [("failed", 7), ("idle", 7), ("stopped", 7)]
    assert games.take_ended() == []
    assert [game.id for game in games.all()] == ["open"]  # Its other side still plays.


async def test_a_session_that_was_started_anew_is_not_let_go() -> None:
    async def claim(_game: str) -> int:
        return 7

    table = Table(claim=claim, idle_timeout_s=1000)
    await table.start()
    await table.stop()
    await table.start()
    table.now_s += STOPPED_KEPT_S + 1
    await table.table.sweep()
    assert table.table.games.take_ended() == []


async def test_without_peers_nothing_waits_to_be_let_go() -> None:
    table = Table()
    await table.start()
    await table.stop()
    table.now_s += STOPPED_KEPT_S + 1
    await table.table.sweep()
    assert table.table.games.take_ended() == []
    assert len(table.table.games) == 0


# Gaps


async def test_a_step_waits_for_the_one_before_it() -> None:
    table = Table()
    await table.start()
    late = [asyncio.create_task(table.tick(number, seq=number)) for number in (4, 2, 3)]
    await turns()
    assert table.agent("s").ticks == []
    assert await table.tick(1, seq=1) == {"echo": 1}
    assert await asyncio.gather(*late) == [{"echo": 4}, {"echo": 2}, {"echo": 3}]
    assert table.agent("s").ticks == [1, 2, 3, 4]


async def test_a_step_waits_for_a_slow_one_as_long_as_that_takes() -> None:
    table = Table()
    await table.start()
    agent = table.agent("s")
    agent.gate = asyncio.Event()
    steps = [asyncio.create_task(table.tick(number, seq=number)) for number in (1, 2, 3)]
    await asyncio.sleep(GAP_WAIT_S + 0.1)
    agent.gate.set()
    assert await asyncio.gather(*steps) == [{"echo": 1}, {"echo": 2}, {"echo": 3}]


async def test_steps_behind_one_that_failed_wait_for_its_repetition() -> None:
    table = Table()
    await table.start()
    agent = table.agent("s")
    agent.gate = asyncio.Event()
    agent.failure = BadPayloadError("no")
    steps = [asyncio.create_task(table.tick(number, seq=number)) for number in (1, 2, 3)]
    await turns()
    agent.gate.set()
    await turns()
    agent.failure = None
    assert isinstance(await asyncio.gather(steps[0], return_exceptions=True), list)
    assert await table.tick(1, seq=1) == {"echo": 1}
    assert await asyncio.gather(*steps[1:]) == [{"echo": 2}, {"echo": 3}]
    assert agent.ticks == [1, 2, 3]


async def test_a_step_whose_earlier_one_ran_out_of_time_in_the_queue_waits_for_its_repetition() -> None:
    table = Table()
    await table.start()
    agent = table.agent("s")
    agent.gate = asyncio.Event()
    first = asyncio.create_task(table.tick(1, seq=1))
    await turns()
    late = asyncio.create_task(table.step("tick", "s", JsonBody(2), seq=2, deadline_ms=10))
    third = asyncio.create_task(table.tick(3, seq=3))
    with pytest.raises(DeadlineExceededError):
        await late
    agent.gate.set()
    await first
    await turns()
    assert await table.tick(2, seq=2) == {"echo": 2}
    assert await third == {"echo": 3}


async def test_a_step_that_waits_for_an_earlier_one_learns_that_the_session_is_over() -> None:
    table = Table()
    await table.start()
    waiting = asyncio.create_task(table.tick(3, seq=3))
    await turns()
    await table.stop(seq=1)
    with pytest.raises(SessionUnknownError):
        await waiting


async def test_so_many_steps_of_a_session_may_wait() -> None:
    table = Table()
    await table.start()
    agent = table.agent("s")
    agent.gate = asyncio.Event()
    waiting = [asyncio.create_task(table.tick(number)) for number in range(WAITING_MAX)]
    await turns()
    with pytest.raises(OverloadedError, match=f"{WAITING_MAX} steps of session 's' wait"):
        await table.tick(1)
    agent.gate.set()
    await asyncio.gather(*waiting)
    assert await table.tick(1) == {"echo": 1}


# Deadlines


async def test_an_agent_with_an_answer_for_late_ticks_gives_it() -> None:
    table = Table()
    await table.start()
    agent = table.agent("s")
    agent.gate, agent.late_answer = asyncio.Event(), "stay"
    reply = await table.step("tick", "s", JsonBody(1), seq=1, deadline_ms=10)
    assert (reply.body, reply.seq) == (b'"stay"', 1)
    assert await table.tick(1, seq=1) == "stay"  # A repetition gets the same.
    agent.gate.set()
    assert await table.tick(2, seq=2) == {"echo": 2}
    assert (table.counts["deadline_fallbacks"], table.counts["deadline_exceeded"]) == (1, 0)


# Snapshots


async def test_a_session_is_saved_at_its_start_and_after_so_many_ticks() -> None:
    saved: list[int] = []

    async def save(session: Session) -> None:
        saved.append(session.seq)
        session.saved_seq = session.seq

    table = Table(save=save, snapshot_every_ticks=3)
    await table.start()
    for number in range(1, 8):
        await table.tick(number)
    assert saved == [0, 3, 6]
    await table.stop()
    assert table.table.left == [("s", "s")]


async def test_the_snapshot_of_a_session_that_is_played_again_or_elsewhere_is_not_forgotten() -> None:
    async def save(session: Session) -> None:
        session.saved_seq = session.seq

    table = Table(save=save, snapshot_every_ticks=3)
    for session in ("again", "moved", "over"):
        await table.start(session)
    await table.stop("over")
    await table.stop("again")
    await table.start("again")
    table.table.hand_on(table.table.sessions["moved"].game, "another")
    assert table.table.left == [("over", "over")]


async def test_every_error_is_counted_under_its_code() -> None:
    table = Table(max_games=1)
    await table.start("a")
    for step in (table.start("b"), table.tick(1, "c"), table.tick(5, "a", seq=5), table.stop("d")):
        with pytest.raises(StepError):
            await step
    codes = {code: n for code, n in table.counts.items() if code not in ("starts", "stops")}
    assert codes == {"overloaded": 1, "session_unknown": 2, "seq_gap": 1}
