"""Agents and actors: what ``serve run`` starts beside the models."""

from typing import Any, Literal, Self

from pydantic import Field, model_validator

from app.config.access import AccessConfig, is_loopback
from app.config.base import Component, Config, ImportPath, Name, Process
from app.config.recording import RecordConfig


class AgentConfig(Component):
    """Decision logic of one side of a game; it lives in the actor's process."""

    factory: ImportPath = "app.agents.gym_agent:GymAgent"
    """Agent class."""

    kwargs: dict[str, Any] = {}
    """Keyword arguments of the class."""

    role: Literal["player", "observer"] = "player"
    """``player``: answers sessions; ``observer``: sees every tick of every session of its game and answers none."""

    blocking: bool = False
    """The class is a ``BlockingAgent``: its plain functions run in the threads of ``actors.<name>.threads``."""

    model: Name | None = None
    """Model that it asks; null asks none."""

    buffer: Name | None = None
    """Buffer that its trajectories go to when training; null sends none."""

    record: RecordConfig | None = None
    """Games that are kept as files, in any mode; null keeps none."""

    renders: dict[Name, ImportPath] = {}
    """Functions that show a recorded game, ``package.module:function`` by a name of one's choice; what every game has,
    ``observation`` and ``payloads``, need not be named."""


class SessionLimits(Config):
    """Limits of the games that one actor replica holds."""

    max_games: int = Field(10_000, ge=1)
    """Games at once; the start of a further one is answered ``overloaded``."""

    idle_timeout_s: float = Field(60.0, gt=0)
    """Seconds without a step after which a session is closed as truncated; a running step counts as use."""

    step_timeout_s: float = Field(30.0, gt=0)
    """Longest time that one step may take."""

    board_timeout_s: float = Field(5.0, gt=0)
    """Longest time that an agent waits for a value of another agent of its game."""

    max_body_mb: float = Field(16.0, gt=0)
    """Largest request body, in MiB."""


class ConnectionLimits(Config):
    """Limits of the connections that one actor replica holds."""

    max_connections: int = Field(10_000, ge=1)
    """Connections at once, a port; a further one is closed at once and counted."""

    header_timeout_s: float = Field(10.0, gt=0)
    """Longest time that the head of a request may take to arrive, and each further 64 KiB of its body."""

    max_partial_mb: float = Field(512.0, gt=0)
    """Requests that have begun to come and are not whole yet, over all connections, in MiB; the one that does not fit
    is answered ``overloaded`` and counted, and its connection closed."""

    idle_timeout_s: float = Field(600.0, gt=0)
    """Seconds without a byte, while no request is under way, after which a connection is closed; a peer that reads
    none of its replies for as long is closed too."""


class Threads(Config):
    """Threads of one actor replica for its agents with ``blocking: true``; without such agents there are none."""

    count: int = Field(16, ge=1, le=1024)
    """Calls that run at a time."""

    max_waiting: int = Field(1_000, ge=1)
    """Calls that may wait for a thread; the step of a further one is answered ``overloaded``."""


class Autoscaling(Config):
    """Replicas that come and go with the games that they hold."""

    min_replicas: int = Field(1, ge=1)
    """Fewest replicas; there are never none, since somebody must listen."""

    max_replicas: int = Field(ge=1)
    """Most replicas; the cluster must have room for all of them."""

    initial_replicas: int | None = Field(None, ge=1)
    """Replicas of the first deploy; null: ``min_replicas``."""

    target_games: int = Field(100, ge=1)
    """Open games that one replica should hold; where they hold more on average, another is started."""

    target_busy: float | None = Field(None, gt=0, le=1)
    """Share of the time that a replica's event loop should compute; null looks at games alone."""

    upscale_delay_s: float = Field(5.0, ge=0)
    """Seconds for which more replicas must be wanted before they are started."""

    downscale_delay_s: float = Field(60.0, ge=0)
    """Seconds for which fewer replicas must be wanted before some hand their games over and end."""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if not self.min_replicas <= (self.initial_replicas or self.min_replicas) <= self.max_replicas:
            raise ValueError(
                f"min_replicas is {self.min_replicas}, initial_replicas {self.initial_replicas}, max_replicas "
                f"{self.max_replicas}; allowed is min_replicas <= initial_replicas <= max_replicas"
            )
        return self


class ActorConfig(Process):
    """The stateful service that game cores talk to."""

    agents: tuple[Name, ...] = Field(min_length=1)
    """Agents of each game; a session without ``-agent-<name>`` gets the first."""

    replicas: int = Field(1, ge=1)
    """Replicas that share the games; ``autoscaling`` rules in its place."""

    autoscaling: Autoscaling | None = None
    """How replicas follow the load; null keeps ``replicas``."""

    use_gateway: Literal["node", "head"] | None = "node"
    """Who listens on the game port. ``node``: the replicas of each node, on that node. ``head``: a gateway on the head
    node, which forwards each step. null: nobody; a game core starts through Serve's port and goes on at the
    ``endpoint`` of the reply."""

    drain_timeout_s: float = Field(30.0, gt=0)
    """Longest time in which a replica that ends hands its games over; what is left then is closed as truncated."""

    host: str = "127.0.0.1"
    """Address that the game port listens on."""

    port: int = Field(36390, ge=0, lt=65536)
    """Game port; 0 picks a free one, once for all replicas."""

    slow_tick_ms: float | None = Field(None, gt=0)
    """Time of a tick from which an alarm tells where it went: session, tick, parts, and stacks that were seen on the
    way; null times nothing."""

    unroll_ticks: int | None = Field(64, gt=0)
    """Ticks in a trajectory; null means whole episodes."""

    snapshot_every_ticks: int | None = Field(None, ge=1)
    """Ticks of a session that may be lost when its replica crashes; null keeps no snapshots: then its games are."""

    push_rows: int = Field(256, ge=1)
    """Rows that a replica collects before it sends them to the buffer."""

    push_ms: float = Field(50.0, gt=0)
    """Longest time that finished trajectories wait for a fuller push."""

    grpc_port: int | None = Field(None, ge=1, lt=65536)
    """Port that speaks gRPC, which all replicas share; null opens none."""

    limits: SessionLimits = SessionLimits()

    threads: Threads = Threads()

    connections: ConnectionLimits = ConnectionLimits()

    access: AccessConfig = AccessConfig()

    num_cpus: float = Field(0.25, ge=0)
    """CPU cores that one replica reserves."""

    @model_validator(mode="after")
    def _is_no_open_address(self) -> Self:
        if not (is_loopback(self.host) or self.access.guarded or self.access.allow_open):
            raise ValueError(
                f"host {self.host!r} is reached by other machines and nobody needs a key, allowed: access.keys_file or "
                "access.keys_env with keys, access.allow_open: true, or a loopback host such as 127.0.0.1"
            )
        return self

    @model_validator(mode="after")
    def _holds_the_largest_body(self) -> Self:
        largest, most = self.limits.max_body_mb, self.connections.max_partial_mb
        if most < largest:
            raise ValueError(
                f"connections.max_partial_mb is {most:g}, but one body may have limits.max_body_mb {largest:g}: it "
                "would never come whole; allowed is at least as much"
            )
        return self

    @model_validator(mode="after")
    def _has_no_grpc_behind_a_gateway(self) -> Self:
        if self.grpc_port is not None and self.use_gateway == "head":
            raise ValueError(
                f"grpc_port is {self.grpc_port} and use_gateway is head: the gateway speaks no gRPC; allowed is "
                "use_gateway node or null, or grpc_port null with native frames in its place"
            )
        return self

    @property
    def most_replicas(self) -> int:
        """Replicas that there are at most, the surge of an update left out."""
        return self.replicas if self.autoscaling is None else self.autoscaling.max_replicas

    @model_validator(mode="after")
    def _admits_its_target(self) -> Self:
        scaling, most = self.autoscaling, self.limits.max_games
        if scaling is not None and scaling.target_games > most:
            raise ValueError(
                f"autoscaling.target_games is {scaling.target_games}, but a replica admits limits.max_games "
                f"{most}: it would be full before another is started; allowed is at most {most}"
            )
        return self
