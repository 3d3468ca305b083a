import asyncio
from typing import Any

import pytest

from app.errors import BadPayloadError, SnapshotError, StaleSeqError
from app.sessions.game import Game
from app.sessions.snapshot import restore_board, restore_session, save_board, save_session
from app.types import Purpose, StepKind, Version
from app.wire.steps import JsonBody, StepRequest

from .fake_agent import BytesAgent, Table


async def handed_over(giver: Table, taker: Table, session: str = "s", *, crashed: bool = False) -> None:
    saved = save_session(giver.table.sessions[session])
    game = Game(saved.game, 9)
    await restore_session(taker.table, game, saved.data, crashed=crashed)
    taker.table.games.enter(game)


async def test_a_session_goes_on_where_it_was() -> None:
    giver, taker = Table(), Table()
    await giver.step("start", "s", purpose=Purpose.EVALUATE)
    giver.agent("s").version = Version(2, 3)
    for number in range(1, 13):
        await giver.tick(number, seq=number)
    await handed_over(giver, taker)
    assert await taker.tick(12, seq=12) == {"echo": 12}  # A repetition of what the other replica has answered.
    assert taker.agent("s").ticks == list(range(1, 13))
    assert await taker.tick(13, seq=13) == {"echo": 13}
    with pytest.raises(StaleSeqError):
        await taker.tick(1, seq=1)
    assert taker.agent("s").purpose is Purpose.EVALUATE
    assert taker.agent("s").missed == []
    assert taker.table.sessions["s"].game.epoch == 9
    assert (await taker.stop(seq=14)).seq == 14


async def test_a_start_repeated_elsewhere_gets_the_same_reply() -> None:
    giver, taker = Table(), Table()
    first = await giver.start(seq=0)
    await handed_over(giver, taker)
    assert await taker.start(seq=0) == first


async def test_after_a_crash_ticks_may_be_missing() -> None:
    giver, taker = Table(), Table()
    await giver.start()
    for number in range(1, 6):
        await giver.tick(number, seq=number)
    await handed_over(giver, taker, crashed=True)
    reply = await taker.step("tick", "s", JsonBody(9), seq=9)
    assert (reply.seq, reply.resumed_at) == (9, 5)
    assert taker.agent("s").missed == [3]
    assert taker.agent("s").ticks == [1, 2, 3, 4, 5, 9]


@pytest.mark.parametrize("order", [(9, 8, 7), (7, 9, 8), (8, 7, 9), (9, 7, 8)])
async def test_after_a_crash_pipelined_ticks_are_played_in_order_however_they_arrive(order: tuple[int, ...]) -> None:
    giver, taker = Table(), Table()
    await giver.start()
    for number in range(1, 6):
        await giver.tick(number, seq=number)
    await handed_over(giver, taker, crashed=True)
    answers = await asyncio.gather(*[taker.tick(number, seq=number) for number in order])
    assert answers == [{"echo": number} for number in order]
    assert taker.agent("s").ticks == [1, 2, 3, 4, 5, 7, 8, 9]
    assert taker.agent("s").missed == [1]


async def test_bytes_come_back_as_bytes() -> None:
    giver, taker = Table(make=BytesAgent), Table(make=BytesAgent)
    await giver.step("start", "s", b"")
    await giver.step("tick", "s", b"\x00\xff", seq=1)
    giver.agent("s").calls.clear()
    await handed_over(giver, taker)
    again = await taker.step("tick", "s", b"\x00\xff", seq=1)
    assert (again.body, again.is_json) == (b"\x00\xff", False)


async def test_differences_go_on_where_they_were() -> None:
    giver, taker = Table(), Table()
    await giver.start()
    await giver.step("tick", "s", JsonBody({"a": 1}))
    await giver.table.step(StepRequest("s", StepKind.TICK, b'{"b": 2}', delta=True))
    await handed_over(giver, taker)
    await taker.table.step(StepRequest("s", StepKind.TICK, b'{"c": 3}', delta=True))
    assert taker.agent("s").ticks[-1] == {"a": 1, "b": 2, "c": 3}


async def test_a_difference_to_a_tick_that_is_missing_is_refused_until_a_whole_one_comes() -> None:
    giver, taker = Table(), Table()
    await giver.start()
    await giver.step("tick", "s", JsonBody({"a": 1}), seq=1)
    await giver.table.step(StepRequest("s", StepKind.TICK, b'{"b": 2}', seq=2, delta=True))
    await handed_over(giver, taker, crashed=True)
    with pytest.raises(BadPayloadError, match="send it whole"):
        await taker.table.step(StepRequest("s", StepKind.TICK, b'{"c": 5}', seq=5, delta=True))
    await taker.step("tick", "s", JsonBody({"a": 5}), seq=5)
    assert taker.agent("s").ticks[-1] == {"a": 5}
    assert taker.agent("s").missed == [2]


async def test_an_agent_whose_state_cannot_be_written_says_what() -> None:
    table = Table()
    await table.start()
    table.agent("s").calls.append(("tick", {1, 2}))  # type: ignore[arg-type]
    with pytest.raises(SnapshotError, match=r"session 's' cannot be written down: agent\.ticks\[0\] is a set"):
        save_session(table.table.sessions["s"])


@pytest.mark.parametrize("data", [b"", b"rubbish", b"\x00\x00\x00\x02{}"])
async def test_rubbish_is_refused_and_leaves_nothing(data: bytes) -> None:
    table = Table()
    with pytest.raises(SnapshotError, match="game 'g' cannot be restored"):
        await restore_session(table.table, Game("g", 1), data, crashed=False)
    assert len(table.table) == 0


async def test_a_state_that_the_agent_does_not_take_leaves_nothing() -> None:
    class Picky(BytesAgent):
        async def load_state_dict(self, state: Any) -> None:
            raise KeyError("hidden")

    giver, taker = Table(), Table(make=Picky)
    await giver.start()
    with pytest.raises(SnapshotError, match="hidden"):
        await handed_over(giver, taker)
    assert len(taker.table) == 0


def test_the_board_travels_but_for_what_cannot_be_written() -> None:
    game, other = Game("g"), Game("g")
    game.frame.put("target", [1, 2.5])
    game.frame.put("callback", print)
    restore_board(other, save_board(game))
    assert (other.frame.get("target"), other.frame.names()) == ([1, 2.5], ["target"])
