from typing import Any, cast

import numpy as np
import pytest
import torch

from app.config.tables import TableConfig
from app.replay.ancestry import Ancestry, Origin
from app.stores.buffer import KEY_COLUMNS, Buffer
from app.stores.buffer_settings import BufferSettings, batch_layout
from app.types import Version
from tests.small_policy import discrete
from train.inputs import BufferInput

SPEC = discrete((2,), 2)
ANCESTRY = Ancestry((Origin(2, Version(1, 7)),))


class FakeBuffer:
    """Notes what it is told."""

    def __init__(self) -> None:
        self.versions: list[Version] = []
        self.ancestries: list[Ancestry] = []
        self.priorities: list[tuple[dict[str, Any], np.ndarray[Any, Any]]] = []

    def advance(self, newest: Version, ancestry: Ancestry) -> list[Any]:
        self.versions.append(newest)
        self.ancestries.append(ancestry)
        return []

    def update_priorities(self, keys: dict[str, Any], priorities: np.ndarray[Any, Any]) -> list[Any]:
        self.priorities.append((keys, priorities))
        return []


def input_of(buffer: FakeBuffer, table: TableConfig | None, monkeypatch: pytest.MonkeyPatch) -> BufferInput:
    monkeypatch.setattr("train.inputs.ray.get", lambda refs, timeout: [])
    layout = batch_layout(SPEC, BufferSettings(4, 1, 8, 2, 5.0, table=table))
    return BufferInput(cast("Buffer", buffer), "rows", "input 0", layout, None)


@pytest.mark.parametrize(
    ("table", "told"),
    [
        (None, 0),
        (TableConfig(capacity_items=9), 0),
        (TableConfig(capacity_items=9, max_age_versions=3), 1),
    ],
)
def test_versions_are_told_to_a_table_whose_items_leave_by_them(
    table: TableConfig | None, told: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    buffer = FakeBuffer()
    input_of(buffer, table, monkeypatch).advance(Version(2, 5), ANCESTRY)
    assert buffer.versions == [Version(2, 5)] * told
    assert buffer.ancestries == [ANCESTRY] * told


def test_priorities_go_back_with_the_names_of_the_items(monkeypatch: pytest.MonkeyPatch) -> None:
    buffer = FakeBuffer()
    one = input_of(buffer, TableConfig(capacity_items=9), monkeypatch)
    batch = {name: torch.arange(4) for name in (*KEY_COLUMNS, "reward")}
    one.update_priorities(batch, torch.ones(4))
    ((keys, priorities),) = buffer.priorities
    assert tuple(keys) == KEY_COLUMNS
    assert priorities.tolist() == [1, 1, 1, 1]
    one.update_priorities({"reward": torch.zeros(4)}, torch.ones(4))
    assert len(buffer.priorities) == 1
