"""One worker of ``bench learner``: ``python -m train.bench.learner_worker RANK PORT PLAN``; rank 0 prints JSON."""

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Final

import torch
from torch import distributed

from train.bench.learner_steps import EPOCHS, Update, bare, product, trainer
from train.strategies.processes import Processes
from train.strategies.strategy import Place

LIMIT: Final = "bare torch"
"""Name of the limit among the contenders."""
WARM_UPDATES: Final = 2
"""Updates before the first window: they pay for memory, and for connections."""

STRATEGIES: Final[Mapping[str, dict[str, object]]] = {
    "ddp": {"kind": "ddp"},
    "fsdp": {"kind": "fsdp"},
    "deepspeed_1": {"kind": "deepspeed", "stage": 1},
    "deepspeed_2": {"kind": "deepspeed", "stage": 2},
}


@dataclass(frozen=True, slots=True)
class WorkerPlan:
    """What the workers measure."""

    workers: int
    windows: int
    seconds: float
    """Length of a window."""
    rows: int
    """Rows of one worker's batch."""
    size_mb: float
    """Size of the weights."""
    strategies: tuple[str, ...]
    gpus: int = 0
    """GPUs of each worker, 0 or 1."""


def main(rank: int, port: str, plan: WorkerPlan) -> dict[str, list[float]]:
    """Returns the samples a second of all workers by contender, one a window; a sample is a row in one pass."""
    torch.set_num_threads(1)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=port, RANK=str(rank), WORLD_SIZE=str(plan.workers))
    device = torch.device("cuda", 0) if plan.gpus else torch.device("cpu")
    if plan.workers > 1:
        distributed.init_process_group("gloo", rank=rank, world_size=plan.workers)
    processes = Processes(rank, plan.workers)
    place = Place(rank, plan.workers, device, processes.reduce_sum)
    contenders = _contenders(plan, place)
    for update in contenders.values():
        _repeat(update, WARM_UPDATES, device)
    found: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(plan.windows):
        for name, update in contenders.items():  # By turns, so that all meet the same machine.
            found[name].append(_rate(update, plan, processes, device))
    if distributed.is_initialized():
        distributed.destroy_process_group()
    return found


def _contenders(plan: WorkerPlan, place: Place) -> dict[str, Update]:
    made: dict[str, Update] = {LIMIT: bare(trainer({}, plan.workers, plan.rows), plan.size_mb, place)}
    for name in plan.strategies:
        config = trainer(dict(STRATEGIES[name]), plan.workers, plan.rows, plan.gpus)
        made[name] = product(config, plan.size_mb, place)
    return made


def _rate(update: Update, plan: WorkerPlan, processes: Processes, device: torch.device) -> float:
    """Returns the samples a second; how many updates make a window follows from the mean time of one."""
    one_s = processes.reduce_sum(torch.tensor([_repeat(update, 1, device)])).item() / plan.workers
    updates = max(1, int(plan.seconds / one_s))  # The same on all workers.
    samples = plan.workers * plan.rows * EPOCHS
    return updates * samples / _repeat(update, updates, device)


def _repeat(update: Callable[[], None], times: int, device: torch.device) -> float:
    """Returns the seconds that so many updates take."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    began_s = time.perf_counter()
    for _ in range(times):
        update()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter() - began_s


def parsed(text: str) -> WorkerPlan:
    """Returns a plan from its JSON."""
    fields = json.loads(text)
    return WorkerPlan(**(fields | {"strategies": tuple(fields["strategies"])}))


def written(plan: WorkerPlan) -> str:
    """Returns a plan as JSON."""
    return json.dumps(asdict(plan))


if __name__ == "__main__":
    given = int(sys.argv[1])
    rates = main(given, sys.argv[2], parsed(sys.argv[3]))
    if given == 0:
        sys.stdout.write(f"rates: {json.dumps(rates)}\n")
