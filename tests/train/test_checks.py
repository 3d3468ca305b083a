"""What a learner worker's checks do with batches, metrics and weights."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from ray.exceptions import RayActorError
from torch import Tensor

from app.checks.alarm import Alarm
from app.config.root import ExperimentConfig
from app.errors import CheckError
from app.types import RowKind, Rows
from tests.checks.rows import SPEC, rows_of
from train.checks import TrainerChecks

STEP, FULL, LOST = RowKind.STEP, RowKind.FULL, RowKind.LOST


class Store:
    """Keeps alarms, or is away."""

    def __init__(self, *, away: bool = False) -> None:
        self.alarms: list[Alarm] = []
        self._away = away

    def report_now(self, alarms: Sequence[Alarm], timeout_s: float = 10.0) -> None:
        if self._away:
            raise RayActorError
        self.alarms += alarms


def checks(store: Store, **wanted: Any) -> TrainerChecks:
    config = ExperimentConfig.model_validate(
        {
            "run": {"project": "game", "trial": "one"},
            "models": {"net": {"factory": "a:b"}},
            "buffers": {"rollouts": {}},
            "sources": {"demos": {"kind": "npz", "path": "nowhere.npz"}},
            "trainers": {
                "main": {
                    "model": "net",
                    "inputs": [{"buffer": "rollouts"}, {"source": "demos", "algorithm": {"kind": "bc"}}],
                }
            },
            "checks": wanted,
        }
    )
    return TrainerChecks(config, "main", SPEC, store)


def batch_of(rows: Rows) -> dict[str, Tensor]:
    tensors = {name: torch.from_numpy(column) for name, column in rows.items()}
    return tensors | {"batch": torch.full((len(rows["kind"]),), 7)}


def test_a_wrong_step_of_a_source_is_taken_out_and_the_batch_keeps_its_size() -> None:
    store = Store()
    one = checks(store, fields={"low": {"kind": "range", "field": "reward", "max": 3, "action": "drop"}})
    batch = batch_of(rows_of((6, FULL)))  # Rewards are 0 to 5.
    one.batch(1, batch)
    assert batch["kind"].tolist() == [STEP] * 4 + [LOST] * 3
    assert batch["weight"].tolist() == [1] * 4 + [0] * 3
    assert batch["batch"].tolist() == [7] * 7
    assert (batch["reward"].dtype, batch["episode"].dtype) == (torch.float32, torch.int64)
    assert one.dropped() == {"checks_low": 2, "rows_dropped_check_low": 2, "rows_dropped_check_cut": 0}
    (alarm,) = store.alarms
    assert (alarm.source, alarm.model, alarm.tick, alarm.times) == ("trainer main", "net", 4, 2)


def test_rows_of_a_buffer_were_looked_at_by_the_replicas() -> None:
    store = Store()
    rows = rows_of((3, FULL))
    rows["reward"][1] = np.nan
    batch = batch_of(rows)
    checks(store).batch(0, batch)
    assert batch["kind"].tolist() == [STEP, STEP, STEP, FULL]
    assert store.alarms == []


def test_what_stops_is_sent_first_and_then_raised_with_all_that_it_says() -> None:
    store = Store()
    one = checks(store, fields={"kl": {"kind": "range", "field": "metrics/kl", "max": 1, "action": "stop"}})
    one.metrics(3, {"kl": 0.5})
    with pytest.raises(CheckError) as caught:
        one.metrics(4, {"kl": 2.0})
    assert str(caught.value) == "check kl: metrics/kl is 2 at update 4, allowed: at most 1"
    assert [alarm.update for alarm in store.alarms] == [4]


def test_weights_that_are_not_finite_are_never_published() -> None:
    one = checks(Store(away=True))
    one.weights(1, {"w": torch.ones(3)})
    with pytest.raises(CheckError, match=r"weights/w\[1\] is nan at update 2"):
        one.weights(2, {"w": torch.tensor([1.0, torch.nan])})
