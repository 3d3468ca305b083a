import asyncio

import pytest

from app.errors import AgentError
from app.sessions.blackboard import Board
from app.sessions.game import Game

from .fake_agent import turns


def boards(*names: str, timeout_s: float = 5.0) -> list[Board]:
    game = Game("g")
    for name in names:
        game.sessions[f"g-agent-{name}"] = None  # type: ignore[assignment]  # Only the names are looked at.
    return [Board(game, f"g-agent-{name}", timeout_s) for name in names]


async def test_an_agent_waits_for_what_another_puts() -> None:
    a, b = boards("a", "b")
    a.enter()
    waiting = [asyncio.create_task(a.wait("target")) for _ in range(2)]
    await turns()
    b.enter()
    b.put("target", 7)
    assert await asyncio.gather(*waiting) == [7, 7]
    assert await a.wait("target") == 7
    assert (a.get("target"), a.get("other", "none")) == (7, "none")


async def test_a_value_is_of_one_frame_alone() -> None:
    a, b = boards("a", "b")
    for frame in range(3):
        a.enter()
        b.enter()
        assert a.get("target") is None
        b.put("target", frame)
        assert await a.wait("target") == frame


async def test_a_game_played_again_does_not_begin_in_the_frame_that_its_last_play_ended_in() -> None:
    a, b = boards("a", "b")
    b.enter()  # Only b lives to the last frame.
    b.leave()
    again_a, again_b = Board(a._game, "g-agent-a", 5.0), Board(b._game, "g-agent-b", 5.0)
    again_a.enter()
    again_a.put("target", "of a")
    again_b.enter()
    assert again_b.get("target") == "of a"


async def test_an_agent_born_between_two_frames_takes_part_in_the_second_whoever_ticks_first() -> None:
    for first_is_new in (True, False):
        a, b = boards("a", "b")
        a.enter()
        a.leave()
        late = Board(b._game, "g-agent-late", 5.0)
        order = [late, a] if first_is_new else [a, late]
        for board in order:
            board.enter()
        late.put("target", 1)
        assert a.get("target") == 1


async def test_agents_that_are_asked_one_after_another_share_the_first_frame() -> None:
    a, b = boards("a", "b")
    a.enter()
    a.put("target", 1)
    a.leave()
    b.enter()
    assert b.get("target") == 1


async def test_whoever_is_first_begins_the_frame() -> None:
    a, b = boards("a", "b")
    a.enter()
    b.enter()
    b.enter()
    b.put("target", 1)
    assert a.get("target") is None  # Still in its frame.
    a.enter()
    assert a.get("target") == 1


async def test_an_agent_that_joins_late_shares_the_frame_of_the_others() -> None:
    a, b = boards("a", "b")
    for _ in range(5):
        a.enter()
    b.enter()
    b.put("target", "late")
    assert await a.wait("target") == "late"


async def test_an_agent_that_died_is_born_again_into_the_present_frame() -> None:
    a, b = boards("a", "b")
    a.enter()
    b.enter()
    for _ in range(3):
        a.enter()  # Without b.
    b.enter()
    b.put("target", "again")
    assert await a.wait("target") == "again"


async def test_a_wait_in_vain_names_who_waits_for_what_and_who_is_there() -> None:
    a, b, _ = boards("a", "b", "c", timeout_s=0.01)
    a.enter()
    b.enter()
    b.put("mood", 1)
    with pytest.raises(AgentError) as caught:
        await a.wait("target")
    message = str(caught.value)
    assert "session 'g-agent-a' waited 0.01 s for 'target'" in message
    assert "put are mood" in message
    assert "other sessions are g-agent-b, g-agent-c, of which g-agent-b have ticked" in message


async def test_a_wait_that_is_given_up_leaves_nothing_behind() -> None:
    a, b = boards("a", "b")
    a.enter()
    waiting = asyncio.create_task(a.wait("target"))
    await turns()
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    b.enter()
    b.put("target", 1)
    assert await a.wait("target") == 1
