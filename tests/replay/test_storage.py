import numpy as np
import pytest

from app.replay.storage import Storage
from app.types import Rows

COLUMNS = {"observation/units": (np.dtype(np.uint8), (2,)), "reward": (np.dtype(np.float32), ())}


def rows(*numbers: int) -> Rows:
    return {
        "observation/units": np.array([[n, n + 1] for n in numbers], np.uint8).reshape(-1, 2),
        "reward": np.array(numbers, np.float32),
    }


@pytest.mark.parametrize("slots", [[1, 2, 3], [3, 1, 4], [4, 3, 2]])
def test_rows_are_read_from_the_slots_that_they_were_written_to(slots: list[int]) -> None:
    storage = Storage(COLUMNS, 5)
    assert storage.check(rows(7, 8, 9)) == 3
    storage.write(np.array(slots), rows(7, 8, 9))
    got = storage.gather(np.array([slots[2], slots[0], slots[2]]))
    assert got["reward"].tolist() == [9, 7, 9]
    assert got["observation/units"].tolist() == [[9, 10], [7, 8], [9, 10]]
    assert storage.column("reward").sum() == 24


def test_what_is_read_is_a_copy() -> None:
    storage = Storage(COLUMNS, 5)
    storage.write(np.array([0]), rows(7))
    got = storage.gather(np.array([0]))
    storage.write(np.array([0]), rows(8))
    assert got["reward"].tolist() == [7]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"reward": np.zeros(2)}, r"'reward' has rows of float64 \(\), allowed are float32 \(\)"),
        ({"observation/units": np.zeros((2, 3), np.uint8)}, r"rows of uint8 \(3,\), allowed are uint8 \(2,\)"),
        ({"reward": np.zeros(3, np.float32)}, "columns of one length"),
        ({"more": np.zeros(2)}, "rows have the columns"),
    ],
)
def test_rows_of_another_kind_are_refused(change: Rows, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Storage(COLUMNS, 5).check(rows(1, 2) | change)


def test_a_column_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(ValueError, match="no column 'value'; allowed are observation/units, reward"):
        Storage(COLUMNS, 5).column("value")


def test_storage_without_columns_or_rows_is_refused() -> None:
    with pytest.raises(ValueError, match="got 0 columns and 5 rows"):
        Storage({}, 5)
    with pytest.raises(ValueError, match="got 2 columns and 0 rows"):
        Storage(COLUMNS, 0)
