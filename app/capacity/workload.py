"""What is planned for: games, their model, and how their rows are learned from."""

from dataclasses import dataclass, field
from typing import Literal

Transport = Literal["http", "native", "bray"]
ModelName = Literal["none", "cartpole", "mlp", "cnn"]
"""What was measured: no model, CartPole with its agent, a network of 128-64-64-16, one over 4 frames of 84 by 84."""
Placement = Literal["local", "remote"]


@dataclass(frozen=True, slots=True)
class Model:
    """The network that answers."""

    name: ModelName = "mlp"
    placement: Placement = "local"
    decision_us: float | None = None
    """CPU microseconds of one decision that the user has measured; None takes those of ``name``."""
    max_rows: int = 1024
    """Observations in one batch."""
    weights_mb: float = 1.0
    """MiB."""
    observation_bytes: int = 512
    """Of one decision, on its way to a remote model."""
    gpu_decisions_per_s: float | None = None
    """Decisions a second of one GPU; None: the model answers on CPU cores."""


@dataclass(frozen=True, slots=True)
class Learning:
    """How rows are learned from."""

    share: float = 1.0
    """Of the ticks that become rows, in (0, 1]."""
    strategy: str = "ddp"
    batch_rows: int = 1024
    """Rows of one batch of one worker."""
    epochs: int = 4
    """Passes over a batch."""
    row_bytes: int = 64
    """Size of one row."""
    unroll_ticks: int = 64
    """Ticks of a trajectory."""
    push_rows: int = 256
    """Rows that a replica collects before it sends them."""
    push_ms: float = 50.0
    """Longest wait of finished trajectories for a fuller push."""
    credits_batches: int = 2
    """Batches under way to one worker."""
    publish_every_updates: int = 1
    max_policy_lag: int = 8
    """Oldest row that is learned from, in published versions."""
    gpu_samples_per_s: float | None = None
    """Samples a second of one GPU; None: CPU cores learn."""


@dataclass(frozen=True, slots=True)
class Workload:
    """Games at once, and what each of their ticks is."""

    games: int
    tick_hz: float
    """Ticks of a session a second."""
    sessions: int = 1
    """Sessions of a game."""
    transport: Transport = "http"
    body_bytes: int = 64
    """Of a tick."""
    reply_bytes: int = 64
    """Of its answer."""
    think_ms: float = 0.0
    """Least time between an answer and the next tick of its session."""
    latency_ms: float = 50.0
    """Wanted: 99 of 100 ticks are answered within it, network included."""
    model: Model = field(default_factory=Model)
    learning: Learning | None = None
    """None: nothing is learned."""
    snapshot_every_ticks: int | None = None
    """Ticks of a session that the loss of its node may cost; None: its game is lost."""

    @property
    def ticks_per_s(self) -> float:
        """Ticks of all games a second."""
        return self.games * self.sessions * self.tick_hz

    @property
    def rows_per_s(self) -> float:
        """Rows a second that are learned from."""
        return 0.0 if self.learning is None else self.ticks_per_s * self.learning.share


@dataclass(frozen=True, slots=True)
class Margins:
    """What a plan leaves free."""

    utilisation: float = 0.6
    """Share of the time that an actor replica computes, at most."""
    utilisation_after_loss: float = 0.85
    """The same while nodes are lost."""
    lost_nodes: int = 1
    """Nodes that may be lost at a time."""
    helpers: float = 0.7
    """Share of the time that model replicas, learners, shards and the network are in use, at most."""
    replica_mb: float = 400.0
    """Memory of a process before it holds anything, in MiB."""
    recover_us: float = 2_000.0
    """CPU microseconds in which a replica takes a game up from its snapshot."""
    variation: float = 0.5
    """Squared coefficient of variation of a tick's CPU time: 0 is always the same, 1 as an exponential one."""
