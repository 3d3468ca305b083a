"""How the batches of several inputs follow each other; the inputs are played by lists."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import pytest
import torch
from torch import Tensor

from app.config.training import Mixing
from app.errors import SparringError
from app.sources.position import Place, Position
from app.stores.buffer_store import EMPTY_ROUND
from app.types import RowKind
from train.strategies.processes import Processes
from train.streams import Streams

ROWS = 4


def batch(number: int, *, empty: bool = False, gone: bool = False, position: int | None = None) -> dict[str, Tensor]:
    kind = torch.zeros(ROWS, dtype=torch.int8)
    kind[-1] = RowKind.FULL
    weight = (kind == RowKind.STEP).float() * (0.0 if empty or gone else 1.0)
    found = {
        "batch": torch.full((ROWS,), number),
        "kind": kind,
        "weight": weight,
        EMPTY_ROUND: torch.full((ROWS,), empty),
    }
    return found if position is None else found | {"position": torch.tensor([[0, 0, position, 0]] * ROWS)}


class FakeInput:
    """Hands out the batches of a list."""

    max_policy_lag: int | None = None
    batch_rows = ROWS

    def __init__(self, name: str, batches: Sequence[dict[str, Tensor]], *, live: bool = True) -> None:
        self.name = self.stream = name
        self.live = live
        self.begun: Place | None = None
        self.finished = -2
        self._batches = batches

    def batches(self, rank: int, place: Place | None) -> Iterator[dict[str, Tensor]]:
        self.begun = place
        yield from self._batches

    def finish(self, batch_id: int) -> None:
        self.finished = batch_id


def endless(name: str) -> FakeInput:
    return FakeInput(name, [batch(number) for number in range(1000)])


def streams(inputs: Sequence[Any], weights: Sequence[float], starving: str = "wait", steps: str = "in_turn") -> Streams:
    mixing = Mixing.model_validate({"starving": starving, "steps": steps})
    return Streams(inputs, weights, mixing, Processes(0, 1))


def order(dealt: Streams, count: int) -> str:
    return "".join(str(arrived.at) for (arrived,) in islice(dealt, count))


def test_inputs_take_turns_by_their_weights() -> None:
    found = order(streams([endless("a"), endless("b")], [3, 1]), 40)
    assert [found[:n].count("1") for n in (4, 8, 40)] == [1, 2, 10]


def test_an_input_that_ends_has_no_more_turns_and_the_stream_ends_with_the_last() -> None:
    short = FakeInput("short", [batch(0)], live=False)
    assert order(streams([short, FakeInput("long", [batch(n) for n in range(5)])], [1, 1]), 100) == "011111"


def test_the_others_wait_for_an_input_without_rows() -> None:
    starved = FakeInput("starved", [batch(0, empty=True), batch(1, empty=True), batch(2)])
    dealt = streams([starved, endless("other")], [1, 1])
    assert order(dealt, 4) == "0001"
    assert dealt.gauges()["starved/turns_lost"] == 0


def test_a_batch_that_is_gone_on_this_worker_alone_is_learned_from_beside_the_others() -> None:
    games = FakeInput("games", [batch(0, empty=True), batch(1, gone=True), batch(2)])
    found = [(arrived.batch_id, arrived.starving) for (arrived,) in streams([games], [1])]
    assert found == [(0, True), (1, False), (2, False)]


def test_or_its_turn_is_lost_to_it_and_counted() -> None:
    starved = FakeInput("starved", [batch(n, empty=True) for n in range(1000)])
    dealt = streams([starved, endless("other")], [1, 1], "skip")
    assert order(dealt, 8) == "01010101"
    gauges = dealt.gauges()
    assert (gauges["starved/batches"], gauges["starved/turns_lost"], gauges["other/batches"]) == (0, 4, 4)


def test_a_workers_part_of_a_source_may_hold_nothing_and_takes_its_turn_all_the_same() -> None:
    source = FakeInput("source", [batch(0, empty=True), batch(1)], live=False)
    assert order(streams([source, endless("other")], [1, 1], "skip"), 4) == "0101"


def test_what_was_read_and_whose_turn_it_was_come_back() -> None:
    source = FakeInput("source", [batch(n, position=n) for n in range(9)], live=False)
    first = streams([source, endless("games")], [1, 2])
    seen = order(first, 7)
    positions = first.positions()
    assert positions is not None
    assert positions["source"] == [(0, 0, 1, 0)]
    rest = FakeInput("source", [batch(n) for n in range(2, 9)], live=False)
    second = streams([rest, endless("games")], [1, 2])
    second.go_on(positions)
    whole = order(streams([endless("source"), endless("games")], [1, 2]), 14)
    assert seen + order(second, 7) == whole
    assert rest.begun == Place(Position(0, 0, 1, 0))


def test_workers_of_another_number_are_told_where_the_others_have_stopped_and_remember_it() -> None:
    saved = {"source": [(1, 0, 4, 2), (2, 0, 0, 0)], " turns": {}, " past": {"source": []}}
    stopped = ((Position(1, 0, 4, 2), Position(2, 0, 0, 0)),)
    source = FakeInput("source", [batch(0, position=6)], live=False)
    resumed = streams([source], [1])
    resumed.go_on({name: saved[name] for name in ("source", " past")})
    order(resumed, 1)
    assert source.begun == Place(Position(1, 0, 0, 0), stopped)
    positions = resumed.positions()
    assert positions is not None
    again = FakeInput("source", [], live=False)
    once_more = streams([again], [1])
    once_more.go_on(positions)
    order(once_more, 1)
    assert again.begun == Place(Position(0, 0, 6, 0), stopped)


def test_together_each_input_gives_a_batch_and_the_others_wait_for_one_without_rows() -> None:
    starved = FakeInput("starved", [batch(0, empty=True), batch(1), batch(2)])
    dealt = iter(streams([endless("games"), starved], [1, 1], steps="together"))
    turns = [[(arrived.at, arrived.starving) for arrived in next(dealt)] for _ in range(3)]
    assert turns == [[(1, True)], [(0, False), (1, False)], [(0, False), (1, False)]]
    assert [arrived.at for arrived in next(dealt)] == [0]  # The other one has come to its end.


def test_or_they_learn_without_it() -> None:
    starved = FakeInput("starved", [batch(n, empty=True) for n in range(9)])
    dealt = iter(streams([endless("games"), starved], [1, 1], "skip", "together"))
    assert [[arrived.at for arrived in next(dealt)] for _ in range(4)] == [[1], [0], [1], [0]]


def test_each_input_is_told_its_own_newest_batch_at_the_end() -> None:
    one, other = endless("one"), FakeInput("other", [])
    dealt = streams([one, other], [1, 1])
    order(dealt, 3)
    dealt.finish()
    assert (one.finished, other.finished) == (2, -1)


def test_a_batch_that_was_cut_is_an_error() -> None:
    cut = {name: column[:2] for name, column in batch(0).items()}
    with pytest.raises(SparringError, match=r"a block of 2 rows of the batches \[0\] of games arrived instead of one"):
        order(streams([FakeInput("games", [cut])], [1]), 1)
