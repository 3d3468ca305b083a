"""What a session's log holds of the game that was played."""

import asyncio
from typing import Any

import pytest

from app.agents.gym_agent import GymAgent
from app.errors import StepError
from app.types import RowKind, StepKind
from app.wire.payload import Payload
from app.wire.trees import pack, unpack
from tests.recordings.played import Service


async def test_a_game_is_noted_with_all_that_came_and_went() -> None:
    service = Service()
    await service.start(options={"greedy": False})
    answer = await service.tick(0)
    await service.tick(1)
    await service.stop(2)
    (played,) = service.played
    assert (played.why, played.about.game) == ("every", "g")
    assert [(entry.event, entry.seq) for entry in played.entries] == [
        ("start", 0),
        ("tick", 1),
        ("tick", 2),
        ("stop", 3),
    ]
    start, first, second, stop = played.entries
    assert start.input == b'{"greedy":false}'
    assert first.input == b'{"observation":[0,0],"reward":0}'
    assert (first.output, first.version) == (answer.body, "0.0")
    assert (first.draws, second.draws) == (0, 1)
    assert first.agent_ms >= first.model_ms > 0
    assert stop.cause == "stop"
    assert [[row.reward for row in entry.rows] for entry in played.entries] == [[], [1.0], [2.0], [0.0]]
    assert stop.rows[0].kind == RowKind.TERMINATED
    assert first.dist_inputs is not None
    assert first.dist_inputs[0].tolist() == [0, 1]


async def test_nothing_is_noted_of_a_game_that_nobody_wants() -> None:
    service = Service(keep=None)
    await service.game(3)
    assert service.played == []


async def test_a_running_game_is_noted_from_when_it_is_asked_for() -> None:
    service = Service(keep=None)
    await service.start()
    await service.tick(0)
    await service.tick(1)
    service.logs["g-agent-player"].keep("asked")
    await service.tick(2)
    await service.stop(3)
    (played,) = service.played
    assert played.why == "asked"
    assert [(entry.event, entry.seq) for entry in played.entries] == [("tick", 3), ("stop", 4)]
    assert [[row.reward for row in entry.rows] for entry in played.entries] == [[3.0], [0.0]]


async def test_an_alarm_finds_the_last_ticks_in_memory() -> None:
    service = Service(keep=None, keep_ticks=2)
    await service.start()
    for number in range(5):
        await service.tick(number)
    service.logs["g-agent-player"].keep("reward is not finite")
    await service.tick(5)
    await service.stop(6)
    (played,) = service.played
    assert [entry.seq for entry in played.entries] == [4, 5, 6, 7]
    assert [[row.reward for row in entry.rows] for entry in played.entries] == [[4.0], [5.0], [6.0], [0.0]]
    assert service.memory.used_bytes == 0


async def test_what_is_held_for_alarms_is_bounded_and_given_back() -> None:
    service = Service(keep=None, keep_ticks=100)
    service.memory.max_bytes = 5000
    await service.start("a-agent-player")
    await service.start("b-agent-player")
    for number in range(20):
        await service.tick(number, "a-agent-player")
        await service.tick(number, "b-agent-player")
    assert 0 < service.memory.used_bytes < 7000
    await service.stop(20, "a-agent-player")
    await service.stop(20, "b-agent-player")
    assert (service.memory.used_bytes, service.played) == (0, [])


async def test_a_long_game_is_handed_over_in_parts_whose_rows_are_whole() -> None:
    service = Service(part_ticks=3)
    await service.game(7)
    parts = [[(entry.event, [row.kind for row in entry.rows]) for entry in part.entries] for part in service.played]
    assert parts == [
        [("start", []), ("tick", [0]), ("tick", [0]), ("tick", [0]), ("row", [RowKind.FULL])],
        [("tick", [0]), ("tick", [0]), ("tick", [0]), ("row", [RowKind.FULL])],
        [("tick", [0]), ("stop", [RowKind.TERMINATED])],
    ]


async def test_an_error_stands_in_place_of_the_answer_and_the_next_tick_has_its_number() -> None:
    service = Service()
    await service.start()
    with pytest.raises(StepError):
        await service.step(StepKind.TICK, "g-agent-player", {"observation": [1]})
    await service.tick(1)
    await service.stop(2)
    _, failed, tick, _ = service.played[0].entries
    assert failed.error is not None
    assert failed.error.startswith("bad_payload: ")
    assert (failed.seq, tick.seq, failed.output) == (1, 1, None)


class Late(GymAgent):
    """Has an answer where its time is up."""

    async def on_tick(self, payload: Payload) -> Payload:
        await asyncio.get_running_loop().create_future()

    def on_deadline(self, payload: Payload) -> Payload:
        return {"late": True}


async def test_the_answer_to_a_tick_whose_time_is_up_is_noted() -> None:
    service = Service(agent=Late)
    await service.start()
    await service.step(StepKind.TICK, "g-agent-player", {}, deadline_ms=1.0)
    await service.stop(1)
    late = service.played[0].entries[1]
    assert (late.output, late.error) == (b'{"late":true}', "CancelledError")


async def test_a_game_goes_on_in_another_replica_with_what_was_noted() -> None:
    first, second = Service(), Service()
    await first.start()
    await first.tick(0)
    await first.tick(1)
    state: Any = unpack(pack(first.table.sessions["g-agent-player"].agent.state_dict()))
    await second.start()
    moved = second.table.sessions["g-agent-player"]
    second.logs["g-agent-player"]._entries.clear()  # Another replica enters the session without a start.
    await moved.agent.load_state_dict(state)
    await second.tick(2)
    await second.stop(3)
    (played,) = second.played
    assert [entry.seq for entry in played.entries] == [0, 1, 2, 3, 4]
    assert [row.reward for entry in played.entries for row in entry.rows] == [1.0, 2.0, 3.0, 0.0]


async def test_a_long_game_that_nobody_asks_for_holds_no_more_than_a_short_one() -> None:
    service = Service(keep=None, keep_ticks=5)
    await service.start()
    sizes: list[tuple[int, int]] = []
    for _ in range(2):
        for _ in range(100):
            await service.tick(1)
        state = pack(service.table.sessions["g-agent-player"].agent.state_dict())
        sizes.append((service.memory.used_bytes, len(state)))
    (held, written), (later_held, later_written) = sizes
    assert later_held == held > 0
    assert later_written - written < 100  # Numbers have more digits, nothing else.
