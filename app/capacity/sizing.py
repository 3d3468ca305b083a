"""From costs to processes, and from processes to machines; arithmetic alone."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from app.capacity.costs import Costs
from app.capacity.machine import Machine
from app.capacity.network import Traffic
from app.capacity.queueing import mean_service_s, rate_at
from app.capacity.workload import Margins, Workload
from app.errors import PlanError

TYPICAL_ROWS: Final = 32
"""Rows of a remote model's batch: as many sessions wait for it where it was measured."""
STORE_CORES: Final = 1.0
"""Cores of the stores' processes: directory, weights, metrics."""
WEIGHTS_KEPT: Final = 3
"""Versions of the weights that a node's object store holds."""
LOSS: Final = "loss of nodes"
NODES_MAX: Final = 100_000
"""Beyond so many nodes there is no plan."""


@dataclass(frozen=True, slots=True)
class Demand:
    """Processes of one kind."""

    name: str
    processes: int
    cores: float
    """Of all of them."""
    gpus: int = 0
    memory_gb: float = 0.0
    """GiB of all of them."""


@dataclass(frozen=True, slots=True)
class Sized:
    """Nodes for a workload, and what fills them."""

    nodes: int
    replicas: int
    """Actor replicas on all nodes."""
    demands: tuple[Demand, ...]
    limit: str
    """What decides about the number of nodes."""
    needed: dict[str, float]
    """Nodes by what they would be needed for."""


def replicas_for(ticks_per_s: float, costs: Costs, share: float) -> int:
    """Returns how many actor replicas compute for that share of the time at most."""
    return max(1, math.ceil(ticks_per_s / rate_at(share, costs.tick.busy_s, costs.tick.idle_s) - 1e-9))


def actor_cores(ticks_per_s: float, costs: Costs, replicas: int) -> float:
    """Returns the cores that ticks keep busy, spread over so many replicas."""
    busy_s, idle_s = costs.tick.busy_s, costs.tick.idle_s
    rate = ticks_per_s / replicas
    share = rate * idle_s / (1 - rate * (busy_s - idle_s))
    return ticks_per_s * mean_service_s(share, busy_s, idle_s)


def helpers(workload: Workload, costs: Costs, margins: Margins) -> list[Demand]:
    """Returns remote models, learners, shards and stores."""
    weights_gb = workload.model.weights_mb / 1024
    base_gb = margins.replica_mb / 1024
    found = [Demand("stores", 2, STORE_CORES, memory_gb=2 * base_gb + WEIGHTS_KEPT * weights_gb)]
    if workload.model.placement == "remote" and workload.model.name != "none":
        each_s = costs.decision.batch_s(TYPICAL_ROWS) / TYPICAL_ROWS
        count = max(1, math.ceil(workload.ticks_per_s * each_s / margins.helpers - 1e-9))
        gpus = count if workload.model.gpu_decisions_per_s is not None else 0
        found.append(Demand("models", count, float(count), gpus, count * (base_gb + weights_gb)))
    if workload.learning is not None and costs.learning is not None:
        workers, shards = workers_for(workload, costs, margins), shards_for(workload, costs, margins)
        gpus = workers if workload.learning.gpu_samples_per_s is not None else 0
        found.append(Demand("learners", workers, float(workers), gpus, workers * (base_gb + 4 * weights_gb)))
        cores = max(1.0, workload.rows_per_s * costs.learning.row_s)
        held_gb = workers * (workload.learning.batch_rows * 4) * workload.learning.row_bytes / 2**30
        found.append(Demand("buffer", shards, cores, memory_gb=shards * base_gb + held_gb))
    return found


def workers_for(workload: Workload, costs: Costs, margins: Margins) -> int:
    """Returns how many learner workers keep up with the rows."""
    if workload.learning is None or costs.learning is None:
        return 0
    samples_per_s = workload.rows_per_s * workload.learning.epochs
    by_samples = samples_per_s / (margins.helpers * costs.learning.worker_samples_per_s)
    by_stream = workload.rows_per_s / (margins.helpers * costs.learning.shard_rows_per_s)
    return max(1, math.ceil(max(by_samples, by_stream) - 1e-9))


def shards_for(workload: Workload, costs: Costs, margins: Margins) -> int:
    """Returns how many shards of the buffer keep up with the rows."""
    if costs.learning is None:
        return 0
    return max(1, math.ceil(workload.rows_per_s / (margins.helpers * costs.learning.shard_rows_per_s) - 1e-9))


def sized(workload: Workload, costs: Costs, machine: Machine, margins: Margins, traffic: Traffic) -> Sized:
    """Returns the fewest machines that hold the workload, also while ``margins.lost_nodes`` of them are lost.

    Raises:
      PlanError: No number of machines does.
    """
    others = helpers(workload, costs, margins)
    normal = replicas_for(workload.ticks_per_s, costs, margins.utilisation)
    after = replicas_for(workload.ticks_per_s, costs, margins.utilisation_after_loss)
    lost = margins.lost_nodes

    def at(nodes: int) -> tuple[int, list[Demand], dict[str, float]]:
        replicas = max(normal, math.ceil(after * nodes / (nodes - lost)), nodes)
        demands = [_actors(workload, costs, margins, replicas), *others]
        return replicas, demands, _needed(demands, machine, margins, traffic, nodes, lost)

    bare = [_actors(workload, costs, margins, max(normal, after)), *others]
    floor = _needed(bare, machine, margins, traffic, 1, 0)
    worst = max(floor, key=lambda name: floor[name])
    if floor[worst] > NODES_MAX:
        raise PlanError(f"no number of {machine.name} holds it: {_too_much(worst, machine, traffic)}")
    for nodes in range(max(lost + 1, math.ceil(floor[worst] - 1e-9)), NODES_MAX):
        replicas, demands, needed = at(nodes)
        if max(needed.values()) <= nodes + 1e-9:
            return Sized(nodes, replicas, tuple(demands), _limit(floor, needed, nodes), needed)
    raise PlanError(f"no number of {machine.name} up to {NODES_MAX:,} holds it; allowed is a larger machine")


def _actors(workload: Workload, costs: Costs, margins: Margins, replicas: int) -> Demand:
    sessions_gb = workload.games * workload.sessions * costs.session_kib / 2**20
    local = workload.model.name != "none" and workload.model.placement == "local"
    each_mb = margins.replica_mb + (workload.model.weights_mb if local else 0)
    return Demand("actor replicas", replicas, float(replicas), memory_gb=sessions_gb + replicas * each_mb / 1024)


def _needed(
    demands: Sequence[Demand], machine: Machine, margins: Margins, traffic: Traffic, nodes: int, lost: int
) -> dict[str, float]:
    """Returns the nodes that each resource takes; infinite where no number is enough."""
    cores, gpus = sum(d.cores for d in demands), sum(d.gpus for d in demands)
    memory_gb = sum(d.memory_gb for d in demands)
    shared = max(traffic.ticks_in, traffic.ticks_out) + traffic.decisions + traffic.rows + traffic.gradients
    free = machine.network_gbit_s * 1e9 * margins.helpers - traffic.weights_per_node
    actors, others = demands[0].cores, cores - demands[0].cores
    return {
        "cores": cores / machine.usable_cores,
        "memory": memory_gb / (machine.memory_gb * margins.helpers),
        "GPUs": 0.0 if not gpus else gpus / machine.gpus if machine.gpus else math.inf,
        "network": shared / free if free > 0 else math.inf,
        LOSS: (actors * (nodes - lost) / nodes + others) / machine.usable_cores + lost,
    }


def _limit(floor: dict[str, float], needed: dict[str, float], nodes: int) -> str:
    """Returns what decides: a resource, or the loss of a node where fewer nodes would do without it."""
    plain = {name: value for name, value in floor.items() if name != LOSS}
    worst = max(plain, key=lambda name: plain[name])
    return LOSS if math.ceil(plain[worst] - 1e-9) < nodes and needed[LOSS] > 0 else worst


def _too_much(name: str, machine: Machine, traffic: Traffic) -> str:
    if name == "GPUs":
        return f"it takes GPUs and {machine.name} has {machine.gpus}; allowed is a machine with GPUs"
    if name == "network":
        weights = traffic.weights_per_node / 1e9
        return (
            f"new weights alone are {weights:.3g} Gbit/s on each node, whose network has {machine.network_gbit_s:g}; "
            "allowed are fewer publishes (publish_every_updates), a faster network or smaller weights"
        )
    return f"{name} would take more than {NODES_MAX:,}; allowed is a larger machine or a smaller workload"
