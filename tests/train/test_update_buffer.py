import math
from collections.abc import Sequence

from train.update_buffer import LoggedUpdate, UpdateBuffer, Value


def test_updates_come_out_in_order_with_time_in_milliseconds() -> None:
    buffer = UpdateBuffer(capacity_updates=10, batch_values=100)
    buffer.add(1, {"a": 1.0, "b": 2}, time_s=1.5)
    buffer.add(2, {"a": 3.0}, time_s=2.0)
    assert buffer.take()
    assert buffer.taken == [Value("a", 1.0, 1500, 1), Value("b", 2.0, 1500, 1), Value("a", 3.0, 2000, 2)]


def test_an_empty_buffer_has_nothing_to_take() -> None:
    assert not UpdateBuffer(capacity_updates=1, batch_values=1).take()


def test_a_mapping_may_be_changed_after_it_was_added() -> None:
    buffer, metrics = UpdateBuffer(capacity_updates=1, batch_values=1), {"a": 1.0}
    buffer.add(1, metrics, time_s=0.0)
    metrics["a"] = 2.0
    buffer.take()
    assert buffer.taken[0].value == 1.0


def test_a_full_buffer_drops_the_oldest_update_and_counts_it() -> None:
    buffer = UpdateBuffer(capacity_updates=2, batch_values=100)
    for step in range(5):
        buffer.add(step, {"a": 0.0}, time_s=0.0)
    buffer.take()
    assert [value.step for value in buffer.taken] == [3, 4]
    assert buffer.lost == 3


def test_a_batch_ends_with_the_update_that_fills_it() -> None:
    buffer = UpdateBuffer(capacity_updates=10, batch_values=3)
    for step in range(3):
        buffer.add(step, {"a": 0.0, "b": 0.0}, time_s=0.0)
    buffer.take()
    assert len(buffer.taken) == 4
    assert len(buffer) == 3


def test_what_was_taken_counts_as_waiting_until_it_is_settled() -> None:
    buffer = UpdateBuffer(capacity_updates=10, batch_values=100)
    buffer.add(1, {"a": 0.0}, time_s=0.0)
    buffer.take()
    assert len(buffer) == 1
    buffer.settle(written=True)
    assert (len(buffer), buffer.lost) == (0, 0)


def test_what_was_refused_counts_as_lost() -> None:
    buffer = UpdateBuffer(capacity_updates=10, batch_values=100)
    buffer.add(1, {"a": 0.0}, time_s=0.0)
    buffer.take()
    buffer.settle(written=False)
    assert (len(buffer), buffer.lost) == (0, 1)


def test_values_that_are_not_finite_are_left_out_and_counted_by_name() -> None:
    buffer = UpdateBuffer(capacity_updates=10, batch_values=100)
    buffer.add(1, {"a": math.inf, "b": math.nan, "c": 1.0}, time_s=0.0)
    buffer.add(2, {"a": -math.inf}, time_s=0.0)
    assert buffer.take()
    assert [value.name for value in buffer.taken] == ["c"]
    assert buffer.non_finite == {"a": 2, "b": 1}
    assert buffer.non_finite_values == 3


def test_an_update_without_a_finite_value_is_taken_all_the_same() -> None:
    buffer = UpdateBuffer(capacity_updates=10, batch_values=100)
    buffer.add(1, {"a": math.nan}, time_s=0.0)
    assert buffer.take()
    assert buffer.taken == []


class Elsewhere:
    """Keeps so many updates."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.kept: list[LoggedUpdate] = []

    def __len__(self) -> int:
        return len(self.kept)

    def append(self, updates: Sequence[LoggedUpdate]) -> int:
        took = updates[: self.room - len(self.kept)]
        self.kept += took
        return len(updates) - len(took)

    def pop(self) -> LoggedUpdate | None:
        return self.kept.pop(0) if self.kept else None


def filled(steps: range, buffer: UpdateBuffer) -> None:
    for step in steps:
        buffer.add(step, {"a": 0.0}, time_s=0.0)


def test_what_has_overflowed_comes_before_what_is_newer() -> None:
    buffer = UpdateBuffer(8, 100, Elsewhere(100))
    filled(range(4), buffer)
    buffer.spill()
    assert len(buffer._updates) == 4  # Half full: nothing has to go.
    filled(range(4, 8), buffer)
    buffer.spill()
    filled(range(8, 12), buffer)
    assert (len(buffer), buffer.lost) == (12, 0)
    buffer.take()
    assert [value.step for value in buffer.taken] == list(range(12))


def test_what_the_overflow_has_no_room_for_is_counted() -> None:
    buffer = UpdateBuffer(8, 100, Elsewhere(3))
    filled(range(8), buffer)
    buffer.spill()
    assert (buffer.lost, len(buffer)) == (1, 7)


def test_at_the_end_all_that_is_left_comes_out_in_order_and_nothing_after_it() -> None:
    buffer = UpdateBuffer(8, 2, Elsewhere(100))
    filled(range(8), buffer)
    buffer.take()
    buffer.spill()
    assert [update.step for update in buffer.end()] == list(range(8))
    filled(range(8, 9), buffer)
    assert not buffer.take()
    assert buffer.end() != []
