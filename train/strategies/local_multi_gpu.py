"""One process, several devices: each has a copy of the network, and keeps its part of a batch for all epochs."""

import copy
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from typing import Any, Final

import torch
from torch import Tensor, nn

from app.algorithms.contract import Learned, Learner
from app.algorithms.learner import ReduceSum
from app.config.strategies import LOCAL_GPUS_MIN
from app.config.training import TrainerConfig
from app.errors import ConfigError, TrainingError
from app.seeding import derive
from app.types import RowKind
from train.strategies.parallel import Parallel
from train.strategies.precision import in_precision
from train.strategies.strategy import MakeLearner, Place, TrainedState

TIMEOUT_S: Final = 300.0
"""Longest wait of a device for the others: they do the same at the same time."""


def local_devices() -> list[torch.device]:
    """Returns the GPUs that this process sees.

    Raises:
      ConfigError: There are fewer than two.
    """
    seen = torch.cuda.device_count()
    if seen < LOCAL_GPUS_MIN:
        raise ConfigError(
            f"strategy local_multi_gpu splits each batch over the GPUs of its process, which sees {seen}, "
            f"allowed: {LOCAL_GPUS_MIN} or more (ddp trains on one, or on CPUs)"
        )
    return [torch.device("cuda", index) for index in range(seen)]


def wrap_local_multi_gpu(config: TrainerConfig, module: nn.Module, devices: Sequence[torch.device]) -> "LocalDevices":
    """Returns a network with a copy on each device."""
    return LocalDevices(config, module, devices)


class LocalDevices:
    """Equal copies of a network, each with an optimizer that takes the same steps; see ``Trained``."""

    def __init__(self, config: TrainerConfig, module: nn.Module, devices: Sequence[torch.device]) -> None:
        """Copies the network to each device; the first has the network itself."""
        modules = [module, *(copy.deepcopy(module) for _ in devices[1:])]
        self._devices = devices
        self._meeting = Meeting(len(devices))
        self._copies: list[Parallel] = []
        for index, (its_module, device) in enumerate(zip(modules, devices, strict=True)):
            its_module.to(device)
            place = Place(0, len(devices), device, self._meeting.reduce_sum_of(index))
            called = in_precision(its_module, config.precision, device)
            average = partial(average_gradients, self._meeting, index)
            self._copies.append(Parallel(config, its_module, called, place, average))

    def learner(self, make: MakeLearner) -> Learner:
        """Returns a learner that has one of its own on each device."""
        return DevicesLearner([copied.learner(make) for copied in self._copies], self._devices, self._meeting)

    def state(self) -> TrainedState | None:
        """Returns the state, which is that of each copy."""
        return self._copies[0].state()

    def load(self, state: TrainedState) -> None:
        """Gives each copy the state."""
        for copied in self._copies:
            copied.load(state)

    def weights(self) -> Mapping[str, Tensor]:
        """Returns what games play."""
        return self._copies[0].weights()

    def may_save(self) -> bool:
        """Returns True: gradients that wait are saved too."""
        return True


class Meeting:
    """Where the threads of the devices hand each other values."""

    def __init__(self, devices: int) -> None:
        self._barrier = threading.Barrier(devices, timeout=TIMEOUT_S)
        self._values: list[Any] = [None] * devices

    def exchange(self, index: int, value: Any) -> list[Any]:
        """Returns the values of all devices, in their order.

        Raises:
          threading.BrokenBarrierError: Another device has failed.
        """
        self._values[index] = value
        self._barrier.wait()
        found = list(self._values)
        self._barrier.wait()  # Nobody puts the next value down before all have read this one.
        return found

    def reduce_sum_of(self, index: int) -> ReduceSum:
        """Returns what adds a tensor up over the devices, in the same order on each."""
        return lambda x: torch.stack(self.exchange(index, x)).sum(0)

    def abort(self) -> None:
        """Ends all waiting, now and later."""
        self._barrier.abort()


def average_gradients(meeting: Meeting, index: int, gradients: list[Tensor]) -> None:
    """Replaces a device's gradients by their mean over all devices, summed in the same order on each."""
    flat = torch.cat([x.reshape(-1) for x in gradients])
    everyone: list[Tensor] = meeting.exchange(index, flat)
    mean = torch.stack([x.to(flat.device) for x in everyone]).mean(0)
    meeting.exchange(index, None)  # No device goes on, and changes its own, before all have copied it.
    parts = torch.split(mean, [x.numel() for x in gradients])
    for gradient, part in zip(gradients, parts, strict=True):
        gradient.copy_(part.view_as(gradient))


class DevicesLearner:
    """Gives each device its part of a batch, where it stays for all epochs."""

    def __init__(self, learners: Sequence[Learner], devices: Sequence[torch.device], meeting: Meeting) -> None:
        self._learners = learners
        self._devices = devices
        self._meeting = meeting
        self._threads = ThreadPoolExecutor(len(devices), thread_name_prefix="device")

    def update(self, batch: Mapping[str, Tensor], shuffle: torch.Generator) -> Learned:
        """Learns from a batch on all devices and returns metrics, which are equal on each.

        Raises:
          TrainingError: The batch has fewer trajectories than there are devices.
        """
        parts = split_trajectories(batch, len(self._devices))
        seeds = [derive(shuffle.initial_seed(), index) for index in range(len(parts))]
        pending = [
            self._threads.submit(self._learn, index, part, seed)
            for index, (part, seed) in enumerate(zip(parts, seeds, strict=True))
        ]
        errors = [error for error in (one.exception(TIMEOUT_S) for one in pending) if error is not None]
        for error in sorted(errors, key=lambda error: isinstance(error, threading.BrokenBarrierError)):
            raise error  # The cause, not those who waited for it.
        learned = [one.result() for one in pending]
        judged = [one.priorities for one in learned if one.priorities is not None]
        return Learned(learned[0].metrics, torch.cat(judged) if judged else None)

    def state_dict(self) -> dict[str, Tensor]:
        """Returns what the learners keep besides the network; it is equal on each device."""
        return self._learners[0].state_dict()

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Gives each learner what was kept."""
        for learner in self._learners:
            learner.load_state_dict(state)

    def _learn(self, index: int, part: Mapping[str, Tensor], seed: int) -> Learned:
        device = self._devices[index]
        try:
            if device.type == "cuda":
                torch.cuda.set_device(device)
            there = {name: column.to(device, non_blocking=True) for name, column in part.items()}
            return self._learners[index].update(there, torch.Generator().manual_seed(seed))
        except BaseException:
            self._meeting.abort()
            raise


def split_trajectories(batch: Mapping[str, Tensor], parts: int) -> list[dict[str, Tensor]]:
    """Returns a batch as about equal parts, none of which cuts a trajectory.

    Args:
      batch: Columns, [N, …]; with a column ``kind`` a trajectory ends where that is no step, without one every row
        stands alone.
      parts: How many.

    Raises:
      TrainingError: There are fewer trajectories.
    """
    rows = len(next(iter(batch.values())))
    ends = torch.arange(1, rows + 1)
    if "kind" in batch:
        ends = ends[batch["kind"].cpu() != int(RowKind.STEP)]
    if len(ends) < parts:
        raise TrainingError(
            f"a batch of {rows} rows holds {len(ends)} trajectories, which {parts} devices cannot share; "
            "raise inputs.batch_rows, or lower actors.<name>.unroll_ticks"
        )
    cuts = [0]
    for part in range(1, parts):
        first, last = int((ends > cuts[-1]).nonzero()[0]), len(ends) - 1 - (parts - part)
        nearest = int(torch.searchsorted(ends, rows * part / parts))
        cuts.append(int(ends[min(max(nearest, first), last)]))
    cuts.append(int(ends[-1]))
    return [{name: column[begin:end] for name, column in batch.items()} for begin, end in pairwise(cuts)]
