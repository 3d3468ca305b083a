"""A source as the driver and its workers see it."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest

from app.config.root import ExperimentConfig
from app.errors import SourceError
from tests.sources.made import FLAT
from train.sources import input as module
from train.sources.input import SourceInput

if TYPE_CHECKING:
    from app.stores.gate import Gate


def source_input(path: str) -> SourceInput:
    source = {"kind": "npz", "path": path}
    config = ExperimentConfig.model_validate({"run": {"project": "p", "trial": "t"}, "sources": {"demos": source}})
    return SourceInput(config, "demos", "input 0", FLAT, 16, 4, cast("Gate", None))


def test_the_workers_of_a_group_share_the_trajectories_however_many_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    monkeypatch.setattr(module, "dataset", lambda stream, rank, group: made.append((stream.ranks, rank, group)))
    demos = source_input("demos")
    for rank in (0, 1):
        demos.dataset(rank, "first", 2)
    demos.dataset(0, "second", 1)
    assert made == [(2, 0, "first"), (2, 1, "first"), (1, 0, "second")]


def test_the_first_batch_is_checked_from_the_folder_of_the_driver(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    steps = {"observation": np.zeros((8, 2)), "action": np.zeros(8, int), "reward": np.zeros(8)}
    np.savez("good.npz", **steps, episode=np.arange(8) // 2)
    good = source_input("good.npz")
    monkeypatch.chdir("/")
    good.check()
    np.savez(tmp_path / "bad.npz", **steps | {"action": np.full(8, 9)}, episode=np.arange(8) // 2)
    with pytest.raises(SourceError, match=r"bad\.npz, rows from 0, row 0: action holds 9"):
        source_input(f"{tmp_path}/bad.npz").check()
