"""What a config asks of the cluster, so that one that cannot be placed is refused instead of waiting for ever."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.config.active import active
from app.config.base import Process
from app.config.root import ExperimentConfig
from app.errors import ConfigError

READ_TASK_CPUS = 0.01
"""CPU cores that the task which streams batches to one training worker reserves: it mostly waits."""

GATEWAY_CPUS = 0.1
"""CPU cores that the gateway of ``use_gateway: head`` reserves: it passes bytes on."""

_BIGGEST = 3
"""Contributors that a refusal names."""


@dataclass(frozen=True, slots=True)
class Slot:
    """Equal processes of one component; the amounts are those of one process."""

    component: str
    processes: int
    num_cpus: float
    num_gpus: float
    memory_mb: int
    """Reserved memory in MiB; 0 reserves none."""


@dataclass(frozen=True, slots=True)
class Total:
    """Sum over all processes."""

    processes: int
    num_cpus: float
    num_gpus: float
    memory_mb: int


def slots(config: ExperimentConfig) -> list[Slot]:
    """Returns what the cluster must place in the config's mode, the surge of a rolling update included.

    A local model runs inside its actor and has no slot of its own. An actor that scales by itself counts at its most.
    """
    part = active(config)
    mode = config.run.mode
    deployments = [_slot(f"actors.{name}", actor.most_replicas, actor) for name, actor in part.actors.items()]
    deployments += [
        _slot(f"models.{name}", model.replicas, model)
        for name, model in part.models.items()
        if model.placement == "remote"
    ]
    deployments += [
        Slot(f"gateway of actors.{name}", 1, GATEWAY_CPUS, 0.0, 0)
        for name, actor in part.actors.items()
        if actor.use_gateway == "head"
    ]
    rest = [_slot("stores", 1, part.stores)] if part.stores.active_in(mode) else []
    rest += [] if part.league is None else [_slot("league", 1, part.league)]
    rest += [_slot(f"buffers.{name}", buffer.shards, buffer) for name, buffer in part.buffers.items()]
    for name, trainer in part.trainers.items():
        rest.append(_slot(f"trainers.{name}", trainer.most_workers, trainer))
        rest.append(Slot(f"trainers.{name} read tasks", trainer.most_workers, READ_TASK_CPUS, 0.0, 0))
    return [*deployments, *rest, *_surge(deployments)]


def total(placed: Sequence[Slot]) -> Total:
    """Returns the sum over all processes of all slots."""
    return Total(
        processes=sum(slot.processes for slot in placed),
        num_cpus=round(sum(slot.processes * slot.num_cpus for slot in placed), 4),  # Ray counts in 1/10,000.
        num_gpus=round(sum(slot.processes * slot.num_gpus for slot in placed), 4),
        memory_mb=sum(slot.processes * slot.memory_mb for slot in placed),
    )


def refuse_if_too_big(config: ExperimentConfig, cpus: float, gpus: float | None = None) -> None:
    """Raises if the config reserves more than there is.

    Args:
      config: Checked config.
      cpus: CPU cores of the cluster.
      gpus: GPUs of the cluster; None leaves them out of the check.

    Raises:
      ConfigError: It does; the message tells the sum, what there is and the biggest contributors.
    """
    placed = slots(config)
    needed = total(placed)
    shortages = []
    if needed.num_cpus > cpus:
        shortages.append(_shortage("CPU cores", needed.num_cpus, cpus, {s: s.num_cpus for s in placed}))
    if gpus is not None and needed.num_gpus > gpus:
        shortages.append(_shortage("GPUs", needed.num_gpus, gpus, {s: s.num_gpus for s in placed}))
    if shortages:
        advice = "lower num_cpus, num_gpus, replicas or workers, or use a bigger cluster"
        raise ConfigError("\n".join(["the cluster cannot place this config", *shortages, f"  {advice}"]))


def _slot(component: str, processes: int, process: Process) -> Slot:
    return Slot(component, processes, process.num_cpus, process.num_gpus, process.memory_mb or 0)


def _surge(deployments: Sequence[Slot]) -> list[Slot]:
    """Returns the one replica that a rolling update starts before it stops an old one, at its biggest."""
    if not deployments:
        return []
    biggest = max(deployments, key=lambda slot: (slot.num_cpus, slot.num_gpus, slot.memory_mb))
    return [Slot(f"update of {biggest.component}", 1, biggest.num_cpus, biggest.num_gpus, biggest.memory_mb)]


def _shortage(resource: str, needed: float, available: float, amounts: dict[Slot, float]) -> str:
    ranked = sorted(amounts, key=lambda slot: slot.processes * amounts[slot], reverse=True)[:_BIGGEST]
    shares = ", ".join(f"{slot.component} {slot.processes} × {amounts[slot]:g}" for slot in ranked if amounts[slot])
    return f"  {resource}: needs {needed:g}, available {available:g}; biggest: {shares}"
