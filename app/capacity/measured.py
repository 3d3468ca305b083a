"""What was measured on the target machine; each figure that is missing names the command that measures it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from app.errors import PlanError

BATCH_ROWS: Final = 32
"""Rows of the batches that ``sparring bench inference`` measures with."""
SIZE_RATIO_MAX: Final = 2.0
"""Weights of a plan may be so many times larger or smaller than those that the learner was measured with."""


@dataclass(frozen=True, slots=True)
class TickCell:
    """CPU of an actor replica for one tick of one transport."""

    transport: str
    connections: int
    body_bytes: int
    cpu_us: float


@dataclass(frozen=True, slots=True)
class DecisionFigures:
    """CPU microseconds of one decision of a network in the actor's process."""

    full_us: float
    """Of the whole way, in batches of 32."""
    batched_us: float
    """Of the engine alone, in batches of 32."""
    alone_us: float | None
    """Of the engine alone, one by one; None where it was not measured."""


@dataclass(frozen=True, slots=True)
class RemoteFigures:
    """The small network in a replica of its own, over its own connections."""

    per_s: float
    """Decisions a second."""
    caller_us: float
    """CPU microseconds of a decision in the process that asks."""


@dataclass(frozen=True, slots=True)
class LearnerRate:
    """Samples a second of all workers together; a sample is a row in one pass."""

    strategy: str
    workers: int
    samples_per_s: float


@dataclass(frozen=True, slots=True)
class RowCase:
    """The way from a push to a training step."""

    row_bytes: float
    rows_per_s: float
    cpu_us: float
    """CPU microseconds of a row in all processes, the push included."""


@dataclass(frozen=True, slots=True)
class PublishTime:
    """Milliseconds until new weights answer."""

    size_mb: float
    reach_ms: float
    """From the object store to the replicas."""
    whole_ms: float
    """The copies into the object store included."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Figures of one machine; None and empty where a part was not measured."""

    machine: str = ""
    cells: tuple[TickCell, ...] = ()
    cartpole: tuple[TickCell, ...] = ()
    """Ticks with CartPole's agent and policy in the replica; their body counts as 0 bytes."""
    forwarded_us: float | None = None
    """What a tick costs more that reaches another replica than its game's."""
    session_kib: float | None = None
    decisions: Mapping[str, DecisionFigures] = field(default_factory=dict)
    remote: RemoteFigures | None = None
    learners: tuple[LearnerRate, ...] = ()
    learner_mb: float | None = None
    """Size of the weights that the learner was measured with, in MiB."""
    rows: tuple[RowCase, ...] = ()
    push_us: float | None = None
    """CPU microseconds of a pushed row in the process that pushes."""
    publishes: tuple[PublishTime, ...] = ()
    unsteady: tuple[str, ...] = ()
    """Figures whose spread was above 30 %."""

    def cells_of(self, transport: str) -> Sequence[TickCell]:
        """Returns the ticks of a transport.

        Raises:
          PlanError: There is none.
        """
        found = [cell for cell in self.cells if cell.transport == transport]
        if not found:
            command = f"ticks --cells --transport {transport} --connections 1 --connections 32"
            raise missing(f"what a tick over {transport} costs", f"{command} --body 64 --body 4096")
        return found

    def cartpole_of(self, transport: str) -> Sequence[TickCell]:
        """Returns the ticks of CartPole over a transport.

        Raises:
          PlanError: There is none.
        """
        found = [cell for cell in self.cartpole if cell.transport == transport]
        if not found:
            raise missing(f"what a tick of CartPole over {transport} costs", "ticks --cartpole")
        return found

    def decision(self, model: str) -> DecisionFigures:
        """Returns what a network's decision costs.

        Raises:
          PlanError: It was not measured.
        """
        if model not in self.decisions:
            raise missing(f"what a decision of {model} costs", "inference --local")
        return self.decisions[model]

    def remote_model(self) -> RemoteFigures:
        """Returns what a remote model's decision costs.

        Raises:
          PlanError: It was not measured.
        """
        if self.remote is None:
            raise missing("what a decision of a remote model costs", "inference --remote")
        return self.remote

    def learner(self, strategy: str, size_mb: float) -> LearnerRate:
        """Returns the rate of most workers that were measured.

        Raises:
          PlanError: The strategy was not measured, or with weights of quite another size.
        """
        command = f"learner --strategy {strategy} --size-mb {size_mb:g}"
        found = [rate for rate in self.learners if rate.strategy == strategy]
        if not found or self.learner_mb is None:
            raise missing(f"how fast {strategy} learns", command)
        ratio = size_mb / self.learner_mb
        if not 1 / SIZE_RATIO_MAX <= ratio <= SIZE_RATIO_MAX:
            measured = f"was measured with {self.learner_mb:g} MiB"
            raise missing(f"how fast {strategy} learns with weights of {size_mb:g} MiB ({measured})", command)
        return max(found, key=lambda rate: rate.workers)

    def pushed(self) -> float:
        """Returns the CPU microseconds of a pushed row.

        Raises:
          PlanError: They were not measured.
        """
        if self.push_us is None:
            raise missing("what a pushed row costs", "buffer --push")
        return self.push_us

    def row_cases(self) -> Sequence[RowCase]:
        """Returns the rows that were streamed, small ones first.

        Raises:
          PlanError: There are none.
        """
        if not self.rows:
            raise missing("how many rows get to a learner", "buffer --rows")
        return sorted(self.rows, key=lambda case: case.row_bytes)

    def publish_times(self) -> Sequence[PublishTime]:
        """Returns how soon weights answer, small ones first.

        Raises:
          PlanError: It was not measured.
        """
        if not self.publishes:
            raise missing("how soon new weights answer", "publish --no-ticks")
        return sorted(self.publishes, key=lambda time: time.size_mb)

    def session_memory_kib(self) -> float:
        """Returns the memory of one open session.

        Raises:
          PlanError: It was not measured.
        """
        if self.session_kib is None:
            raise missing("what an open session takes in memory", "ticks --memory")
        return self.session_kib


def missing(figure: str, command: str) -> PlanError:
    """Returns the error of a figure that nobody has measured."""
    return PlanError(
        f"nothing tells {figure}: measure it on the target machine by sparring bench {command} --json, and name the "
        "file that you keep the line in by --measured"
    )
