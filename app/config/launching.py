"""What ``sparring launch`` adds to service and training: game cores, a goal and an evaluation."""

from typing import Literal

from pydantic import Field

from app.config.base import Config


class SimulatorConfig(Config):
    """Game cores: processes outside the cluster that play an environment over HTTP."""

    env: str
    """Gymnasium id, ``pettingzoo:package.module:factory`` for a game of several agents, or ``core:package.module`` for
    a game core of your own. Then ``python -m package.module`` takes the options ``--url``, ``--purpose``, ``--seed``,
    ``--games`` (at a time), ``--episodes`` and ``--version`` as ``sparring simulate`` does, plays until SIGTERM without
    ``--episodes``, and prints JSON with ``episodes``, ``mean_return`` and ``min_return``."""

    games: int = Field(16, ge=1)
    """Games that one process plays at once."""

    processes: int = Field(1, ge=1)
    """Processes."""

    transport: Literal["steps", "step"] = "steps"
    """``steps``: one request a frame for all games; ``step``: one request a tick."""

    seats: tuple[dict[str, str], ...] = ()
    """Games of several agents: which agent of the config plays for which of the game; game i takes the i-th mapping,
    and round again. Who is not named plays for itself."""

    scored: tuple[str, ...] = ()
    """Games of several agents: agents of the config whose mean return is the game's; empty means all."""

    with_state: bool = False
    """Games of several agents: whether an observation is ``{own: …, state: …}``, with the state of the whole game."""


class Goal(Config):
    """When a model is good enough."""

    mean_return: float
    """Mean return that is to be reached, first by training games, then by evaluation games."""

    training_return: float | None = None
    """Mean return of training games that is worth an evaluation; null: ``mean_return``. In self-play, where returns
    cancel out, one that is reached at all times has it evaluated every ``training_games`` games."""

    evaluation_seats: tuple[dict[str, str], ...] | None = None
    """``simulator.seats`` of evaluation games; null: the same."""

    training_games: int = Field(100, ge=1)
    """Newest finished training games whose mean triggers an evaluation."""

    evaluation_games: int = Field(100, ge=1)
    """Games of one evaluation, each with a seed unseen in training."""

    evaluation_seed: int = Field(1_000_000, ge=0)
    """First seed of the evaluation games."""


class LaunchConfig(Config):
    """The whole ring in one command."""

    simulator: SimulatorConfig
    """Game cores that play."""

    goal: Goal
    """When to stop."""

    deploy_config: str | None = None
    """Config file, relative to this one, that serves the champion afterwards; null serves none."""

    limit_s: float = Field(600.0, gt=0)
    """Seconds after which the launch gives up."""
