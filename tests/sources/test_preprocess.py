"""The user's function between files and rows."""

from typing import Any

import numpy as np
import pytest

from app.errors import PluginError, SourceError
from app.sources.fitting import fields_of
from app.sources.preprocess import Preprocess
from app.sources.stored import Stored
from app.sources.trajectory import trajectory
from app.types import Rows

from .made import FLAT, episode

HERE = "tests.sources.test_preprocess"


def scaled(columns: dict[str, Any]) -> dict[str, Any]:
    return {"observation": columns["pixels"][:, :2] / 2, "action": columns["action"]}


def shorter(columns: dict[str, Any]) -> dict[str, Any]:
    return {name: column[:-1] for name, column in scaled(columns).items()}


def silent(columns: dict[str, Any]) -> dict[str, Any]:
    return {"action": columns["action"]}


def stored() -> Rows:
    """Returns rows with bytes in place of observations."""
    pixels = np.array([[2, 4, 6], [8, 10, 12], [14, 16, 18]], np.uint8)
    columns = episode(2) | {"observation": pixels}
    rows = trajectory(Stored(columns, ""), None, 3)
    assert rows is not None
    rows["pixels"] = rows.pop("observation")
    return rows


def test_what_the_function_leaves_out_stays_as_it_was() -> None:
    rows = Preprocess("demos", f"{HERE}:scaled", fields_of(FLAT))(stored())
    assert rows["observation"].tolist() == [[1, 2], [4, 5], [7, 8]]
    assert rows["observation"].dtype == np.float32
    assert rows["weight"].tolist() == [1, 1, 0]
    assert rows["episode"].tolist() == [3, 3, 3]
    assert rows["action_mask"].tolist() == [[1, 1, 1, 1]] * 3
    assert rows.keys() == fields_of(FLAT).keys()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("shorter", "gives 2 rows of observation; allowed is 3, row by row"),
        ("silent", "gives action; observation is missing, as float32 of shape"),
    ],
)
def test_another_result_is_refused(name: str, message: str) -> None:
    with pytest.raises(SourceError, match=message) as refused:
        Preprocess("demos", f"{HERE}:{name}", fields_of(FLAT))(stored())
    assert str(refused.value).startswith(f"sources.demos.preprocess {HERE}:{name}")


def test_a_function_that_is_not_there_is_named() -> None:
    with pytest.raises(PluginError, match="has no 'absent'"):
        Preprocess("demos", f"{HERE}:absent", fields_of(FLAT))
