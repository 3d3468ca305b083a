"""How a league goes about it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from app.league.hyperparameters import Mutation, Spans
from app.league.matchmaking.equilibrium import Equilibrium
from app.league.matchmaking.matchmaker import Matchmaker
from app.league.matchmaking.roles import LeagueExploiter, MainAgent, MainExploiter
from app.league.payoff import PlayerId
from app.league.players import FrozenPlayer, Role, Weights
from app.league.promotion import PromotionTest
from app.league.ratings import Ratings
from app.league.roster import Roster

RatingSystem = Literal["elo", "openskill"]


@dataclass(frozen=True, slots=True)
class Parts:
    """What a matchmaker may look at beside the payoff."""

    roster: Roster
    ratings: Ratings
    equilibrium: Equilibrium


MakeMatchmaker = Callable[[Parts], Matchmaker]


def by_role(role: Role) -> MakeMatchmaker:
    """Returns what makes the matchmaker that a role has by itself."""
    matchmakers = {
        Role.MAIN: MainAgent,
        Role.MAIN_EXPLOITER: MainExploiter,
        Role.LEAGUE_EXPLOITER: LeagueExploiter,
    }
    return lambda parts: matchmakers[role](parts.roster)


@dataclass(frozen=True, slots=True)
class Freezing:
    """When a learning player is frozen, and whether it then begins anew."""

    every_updates: int = 200_000
    """Updates after which a period ends in any case."""
    min_updates: int = 0
    """Updates before which it does not end by ``winrate``."""
    winrate: float | None = None
    """Win rate against each of those whom it is to beat that ends a period; None: updates alone do."""
    reset_winrate: float | None = None
    """Win rate at which it is frozen and begins anew; None: never."""
    reset_probability: float = 0.0
    """Chance that it begins anew when it is frozen for another reason."""


@dataclass(frozen=True, slots=True)
class LearnerSettings:
    """One learning player."""

    trainer: str
    role: Role = Role.MAIN
    matchmaker: MakeMatchmaker | None = None
    """None: the role's own."""
    initial: str | None = None
    """Initial model that it begins with; None: untrained weights."""
    freezing: Freezing = Freezing()
    spans: Spans = field(default_factory=dict)
    """Its hyperparameters."""
    population: str = ""
    """Players among which weights and hyperparameters are copied; empty: it copies nobody."""


@dataclass(frozen=True, slots=True)
class Copying:
    """Population based training: a player that falls behind goes on as another one."""

    below: float = 0.3
    """Score expected against another of its population below which it takes that one's weights and values."""
    mutation: Mutation = field(default_factory=Mutation)
    mutate: Literal["copied", "always"] = "copied"
    """Whether values change after a copy alone, or whenever a player is frozen."""


@dataclass(frozen=True, slots=True)
class LeagueSettings:
    """All that a league is told."""

    learners: Mapping[PlayerId, LearnerSettings]
    supplied: Mapping[PlayerId, FrozenPlayer] = field(default_factory=dict)
    """Frozen opponents that nobody here has trained."""
    initial_models: Mapping[str, Weights] = field(default_factory=dict)
    pools: Mapping[str, tuple[PlayerId, ...]] = field(default_factory=dict)
    """Fixed lists of players for evaluation."""
    rating: RatingSystem = "openskill"
    fix_frozen_ratings: bool = False
    """Whether a frozen player keeps the rating that it had as it was frozen."""
    decay: float = 1.0
    prior_games: float = 0.0
    min_games: int = 0
    promotion: PromotionTest = field(default_factory=PromotionTest)
    copying: Copying | None = None
    slice_updates: int | None = None
    """Updates after which a trainer of several players turns to the next; None: when one is frozen."""
    match_timeout_s: float = 3600.0
    max_open_matches: int = 10_000
    seed: int = 0
