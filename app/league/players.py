"""Who plays in a league: players that learn, and the frozen ones that they were."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from app.errors import LeagueError
from app.league.payoff import PlayerId
from app.models.lineage import frozen_version
from app.types import Version

Hyperparameters = Mapping[str, float]
"""Numbers of a learning period, by name: of the algorithm, and of how it is played (temperature, shaping)."""


class Role(StrEnum):
    """What a learning player is for (Vinyals et al., 2019)."""

    MAIN = "main"
    """Is to beat everybody."""
    MAIN_EXPLOITER = "main_exploiter"
    """Finds what the main players do badly, and begins anew."""
    LEAGUE_EXPLOITER = "league_exploiter"
    """Finds what the whole league does badly."""


@dataclass(frozen=True, slots=True)
class Weights:
    """Names weights that do not change; the league never looks at them."""

    reference: str
    """Where they are kept, as whoever keeps them reads it."""
    content_hash: str = ""
    """Content hash, see ``app.models.content``; empty where it is unknown."""

    def version(self, player: PlayerId) -> Version:
        """Returns the version under which the weight store has them, as a frozen clone of the trial.

        Args:
          player: Whose they are, for the message.

        Raises:
          LeagueError: They are no clone of the trial.
        """
        if not self.content_hash:
            raise LeagueError(f"player {player} plays {self.reference}, which is no clone of this trial")
        return frozen_version(self.content_hash)


UNTRAINED = Weights("untrained")
"""The weights that a trainer's model has before anything is learned."""


@dataclass(frozen=True, slots=True)
class LearningPlayer:
    """A player that a trainer goes on with."""

    id: PlayerId
    role: Role
    trainer: str
    """Trainer of the config; several players may share one in turn."""
    initial: str | None = None
    """Initial model that each of its lives begins with; None: the untrained weights of its trainer's model."""
    period: int = 1
    """Number of its learning period: it grows with each freeze."""
    hyperparameters: Hyperparameters = field(default_factory=dict)
    """Of this period."""
    parent: PlayerId | None = None
    """Frozen player that this period's weights come from; None: they come from ``initial``."""
    weights: Weights | None = None
    """What it plays with while another one has its trainer, or what its trainer is to take over; None: the newest that
    its trainer has published."""
    since_s: float = 0.0
    """When its period began, in Unix seconds."""
    updates: int = 0
    """Updates of this period that its trainer had done when it last turned to another player."""


@dataclass(frozen=True, slots=True)
class FrozenPlayer:
    """A player that never changes."""

    id: PlayerId
    """``main:3`` is what ``main`` was at the end of its third period."""
    role: Role | None = None
    """Role of the learning player that it was; None for one that was supplied."""
    learner: PlayerId | None = None
    """Learning player that it was; None for one that was supplied."""
    parent: PlayerId | None = None
    """Frozen player that its last period began with; None: it began with an initial model."""
    weights: Weights | None = None
    """What it plays with; None where ``agent`` needs none."""
    agent: str | None = None
    """Agent of the config that plays it, such as a scripted one; None: the one that its weights belong to."""
    period: int = 0
    """Learning period that it ended; 0 for one that was supplied."""
    hyperparameters: Hyperparameters = field(default_factory=dict)
    """Those of that period."""
    since_s: float = 0.0
    """When it was frozen, in Unix seconds."""
    trainer: str | None = None
    """Trainer whose model its weights belong to; None for one that was supplied."""
    rating: float | None = None
    """Rating that it keeps for ever, so that others are measured by it; None: its results move it."""


Player = LearningPlayer | FrozenPlayer


def frozen_id(learner: PlayerId, period: int) -> PlayerId:
    """Returns the id of what a learning player is at the end of a period."""
    return f"{learner}:{period}"
