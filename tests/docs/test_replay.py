"""What the page about replay shows runs as it stands."""

import re
from itertools import count
from pathlib import Path

import numpy as np
import yaml
from numpy.typing import NDArray

from app.config.root import ExperimentConfig
from app.config.tables import TableConfig
from app.model_check import buffer_problems
from app.replay.rows import row_dtypes
from app.replay.supply import WhenFull
from app.replay.table_stats import Removal
from app.types import RowKind, Rows
from tests.small_policy import discrete

PAGE = (Path(__file__).parents[2] / "docs" / "replay.md").read_text(encoding="utf-8")
PYTHON = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def rows_of(games: int, steps: int) -> Rows:
    """Returns games of the small model, each with so many steps."""
    numbers, size = count(), games * (steps + 1)
    rows = {name: np.zeros((size, *shape), dtype) for name, (dtype, shape) in row_dtypes(discrete((2,), 2)).items()}
    for game in range(games):
        rows["kind"][game * (steps + 1) + steps] = RowKind.TERMINATED
    rows["tick"][:] = [next(numbers) for _ in range(size)]
    return rows


def errors(rows: Rows, weights: NDArray[np.float32]) -> NDArray[np.float64]:
    return rows["tick"] * weights.astype(np.float64)


def test_the_shown_table_takes_rows_and_hands_out_a_weighted_batch() -> None:
    assert len(PYTHON) == 1
    names = {"spec": discrete((2,), 2), "seed": 3, "rows": rows_of(40, 10), "errors": errors}
    exec(PYTHON[0], names)  # noqa: S102  # The page's own code.
    # 8 · 384 = 8 · 256 + 1024: the limiter takes so many of the 400.
    assert (names["taken"], names["ignored"]) == (384, 0)
    assert names["sample"].rows["next_observation"].shape == (64, 2)  # type: ignore[attr-defined]


def test_the_page_names_every_reason_for_which_rows_leave() -> None:
    equation = next(line for line in PAGE.splitlines() if line.strip().startswith("inserted ="))
    assert equation.split("=")[1].replace(" ", "").split("+") == ["held", *Removal]


def test_the_shown_buffers_are_allowed() -> None:
    (shown,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    inputs = [{"buffer": "replay", "batch_rows": 256}]
    tree = {
        "run": {"project": "p", "trial": "t"},
        "trainers": {"main": {"model": "main", "inputs": inputs}},
    } | yaml.safe_load(shown)
    config = ExperimentConfig.model_validate(tree)
    assert set(config.buffers) == {"rollouts", "replay"}
    assert not buffer_problems(config)


def test_the_page_names_every_key_of_a_table() -> None:
    assert all(f"`{key}`" in PAGE for key in TableConfig.model_fields)
    assert all(f"`{key}`" in PAGE for key in ("shards", "density", "when_full", "ticket_mb", *WhenFull))
