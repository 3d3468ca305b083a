"""Several devices of one process; here they are all the CPU, which threads share."""

import threading
from dataclasses import replace

import pytest
import torch

from app.algorithms.contract import Learner
from app.algorithms.learner import PolicyLearner, PolicySettings
from app.errors import ConfigError, TrainingError
from app.types import RowKind
from tests.small_policy import small_policy
from tests.train.runs import SETTINGS, batch, digest, trainer
from train.strategies.build import wrap
from train.strategies.local_multi_gpu import LocalDevices, local_devices, split_trajectories, wrap_local_multi_gpu
from train.strategies.strategy import Place

CPUS = [torch.device("cpu")] * 2
ONCE = replace(SETTINGS, epochs=1, minibatches=1)


def learner(trained: object, settings: PolicySettings = SETTINGS) -> Learner:
    spec = small_policy().spec
    return trained.learner(
        lambda module, stepper, workers, total: PolicyLearner(module, spec, stepper, settings, workers, total)
    )  # type: ignore[attr-defined, no-any-return]


def devices(**settings: object) -> LocalDevices:
    return wrap_local_multi_gpu(trainer(**settings), small_policy(0), CPUS)


def test_a_step_on_two_devices_is_that_of_one_on_all_rows() -> None:
    both, alone = devices(), wrap(trainer(), module := small_policy(0), Place())
    measured = learner(both, ONCE).update(batch(1), torch.Generator().manual_seed(3))
    expected = learner(alone, ONCE).update(batch(1), torch.Generator().manual_seed(3))
    assert measured.metrics["grad_norm"] == pytest.approx(expected.metrics["grad_norm"], rel=1e-4)
    for name, weight in both.weights().items():
        torch.testing.assert_close(weight, module.state_dict()[name])


def test_the_copies_stay_equal_over_epochs_and_minibatches() -> None:
    trained = devices(optimizer={"accumulate_minibatches": 4, "ema_decay": 0.9})
    learning = learner(trained)
    for number in range(3):
        learning.update(batch(number), torch.Generator().manual_seed(number))
    first, second = (digest(copied.state()) for copied in trained._copies)
    assert first == second


def test_a_state_is_gone_on_with_bit_for_bit() -> None:
    trained = devices(optimizer={"kind": "sgd", "momentum": 0.9})
    learner(trained).update(batch(1), torch.Generator().manual_seed(1))
    state = trained.state()
    assert state is not None
    module = small_policy(5)
    module.load_state_dict(state.model)
    resumed = wrap_local_multi_gpu(trainer(optimizer={"kind": "sgd", "momentum": 0.9}), module, CPUS)
    resumed.load(state)
    for run in (trained, resumed):
        learner(run).update(batch(2), torch.Generator().manual_seed(2))
    assert digest(trained.state()) == digest(resumed.state())


def test_a_failure_on_one_device_is_raised_and_ends_the_waiting_of_the_other() -> None:
    broken = batch(1)
    del broken["log_prob"]
    with pytest.raises(KeyError, match="log_prob"):
        learner(devices()).update(broken, torch.Generator())
    assert threading.active_count() < 50


def test_trajectories_are_shared_and_never_cut() -> None:
    kind = torch.full((10,), int(RowKind.STEP))
    kind[[1, 2, 6, 9]] = int(RowKind.FULL)  # Of 2, 1, 4 and 3 rows.
    rows = torch.arange(10)
    assert [part["row"].tolist() for part in split_trajectories({"kind": kind, "row": rows}, 2)] == [
        [0, 1, 2, 3, 4, 5, 6],
        [7, 8, 9],
    ]
    assert [len(part["row"]) for part in split_trajectories({"kind": kind, "row": rows}, 4)] == [2, 1, 4, 3]
    assert [len(part["row"]) for part in split_trajectories({"row": rows}, 5)] == [2, 2, 2, 2, 2]


def test_fewer_trajectories_than_devices_are_refused() -> None:
    with pytest.raises(TrainingError, match="a batch of 3 rows holds 3 trajectories, which 4 devices cannot share"):
        split_trajectories({"row": torch.arange(3)}, 4)


@pytest.mark.skipif(torch.cuda.device_count() > 1, reason="this machine has the GPUs")
def test_without_gpus_it_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"which sees \d, allowed: 2 or more \(ddp trains on one, or on CPUs\)"):
        local_devices()
