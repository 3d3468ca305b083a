import numpy as np

from app.agents.outbox import Outbox
from app.agents.unroll import Row
from app.replay.rows import count, row_dtypes
from app.types import RowKind
from tests.small_policy import discrete

SPEC = discrete((2,), 3, "uint8")


def row(tick: int, kind: RowKind = RowKind.STEP) -> Row:
    return Row(
        np.array([tick, 255], np.uint8), 1, np.array([True, False, True]), None, 0.5 * tick, -0.25, 2.0, int(kind),
        float(kind is RowKind.STEP), 1, 5, 2**40 + 3, tick,
    )  # fmt: skip


def trajectory(*ticks: int) -> list[Row]:
    return [*(row(tick) for tick in ticks), row(ticks[-1] + 1, RowKind.FULL)]


def test_rows_become_columns_of_the_agreed_types_in_their_order() -> None:
    outbox = Outbox(SPEC, 100, lambda: None)
    outbox.add(trajectory(0, 1))
    outbox.add(trajectory(7))
    columns = outbox.take()
    assert {name: (column.dtype, column.shape[1:]) for name, column in columns.items()} == row_dtypes(SPEC)
    assert count(columns) == 5
    assert columns["tick"].tolist() == [0, 1, 2, 7, 8]
    assert columns["kind"].tolist() == [0, 0, 1, 0, 1]
    assert columns["weight"].tolist() == [1, 1, 0, 1, 0]
    assert columns["reward"].tolist() == [0, 0.5, 1, 3.5, 4]
    assert columns["observation"].tolist() == [[0, 255], [1, 255], [2, 255], [7, 255], [8, 255]]
    assert columns["action_mask"].tolist() == [[1, 0, 1]] * 5
    assert columns["episode"].tolist() == [2**40 + 3] * 5


def test_what_was_taken_is_gone() -> None:
    outbox = Outbox(SPEC, 100, lambda: None)
    outbox.add(trajectory(0))
    outbox.take()
    assert len(outbox) == 0
    outbox.add(trajectory(5))
    assert outbox.take()["tick"].tolist() == [5, 6]


def test_it_tells_when_it_is_worth_sending() -> None:
    told: list[int] = []
    outbox = Outbox(SPEC, 4, lambda: told.append(len(outbox)))
    outbox.add(trajectory(0, 1))
    assert told == []
    outbox.add(trajectory(2))
    assert told == [5]
