"""The one config that serving, training and the templates share."""

from typing import Annotated

from pydantic import Field, StringConstraints

from app.config.base import Config, Mode, Name, Process
from app.config.buffers import BufferConfig
from app.config.charts import ChartsConfig
from app.config.checks import ChecksConfig
from app.config.evolution import EvolutionConfig
from app.config.launching import LaunchConfig
from app.config.league import LeagueConfig
from app.config.logs import LogsConfig
from app.config.metrics import MetricsConfig
from app.config.models import ModelConfig
from app.config.search import SearchConfig
from app.config.serving import ActorConfig, AgentConfig
from app.config.sources import Source
from app.config.training import TrainerConfig


class Run(Config):
    """Identity of one trial."""

    project: Name
    """Game or product."""

    trial: Name
    """Attempt at it; service and training find each other by project and trial."""

    mode: Mode = "train"
    """``deploy`` serves fixed weights and records no trajectories."""

    seed: int = Field(0, ge=0)
    """All random generators derive from it."""


class Tracking(Config):
    """Where metrics and models go."""

    mlflow_uri: str | None = None
    """MLflow tracking server; null means an sqlite store under the state root."""

    alias: Annotated[str, StringConstraints(pattern=r"^[A-Za-z][\w-]*$")] = "champion"
    """Alias that a registered model gets when training has reached its goal or its end; ``challenger`` leaves it to a
    canary to show that it is better."""

    tensorboard: bool = True
    """Also write TensorBoard event files under the state root."""

    replay_s: float | None = Field(300.0, gt=0)
    """Seconds after which the newest recorded game becomes a page of the trial's run in MLflow, where agents record;
    null attaches none."""

    charts: ChartsConfig = ChartsConfig()
    """What TensorBoard shows beside scalars; nothing by default."""


class StoresConfig(Process):
    """The process that holds weights, directory and metrics."""


class ExperimentConfig(Config):
    """Root of a config file."""

    run: Run

    models: dict[Name, ModelConfig] = {}
    """Networks, and where they answer."""

    agents: dict[Name, AgentConfig] = {}
    """Logic that decides for a player, a boss or an observer."""

    actors: dict[Name, ActorConfig] = {}
    """Game ports, and the replicas that hold the games."""

    buffers: dict[Name, BufferConfig] = {}
    """Where trajectories wait for a trainer."""

    sources: dict[Name, Source] = {}
    """Data that lie there already."""

    trainers: dict[Name, TrainerConfig] = {}
    """Who trains which model, and from what."""

    checks: ChecksConfig = ChecksConfig()

    stores: StoresConfig = StoresConfig()

    tracking: Tracking = Tracking()

    logs: LogsConfig = LogsConfig()

    metrics: MetricsConfig = MetricsConfig()

    launch: LaunchConfig | None = None
    """Game cores, goal and evaluation of ``sparring launch``; null: it cannot be launched."""

    search: SearchConfig | None = None
    """What ``sparring search`` tries; null: it cannot be searched."""

    evolution: EvolutionConfig | None = None
    """What ``sparring evolve`` does; null: nothing evolves."""

    league: LeagueConfig | None = None
    """Who plays whom; null: games are played as they come."""

    vars: dict[str, int | float | str | bool | list[int]] = {}
    """Free values for ``${vars.x}`` in this file."""
