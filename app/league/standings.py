"""How the players of a league stand."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from app.errors import LeagueError
from app.league.payoff import PlayerId
from app.league.players import FrozenPlayer
from app.league.state import LeagueState

NOBODY: Mapping[PlayerId, float] = {}


@dataclass(frozen=True, slots=True)
class Standing:
    """One player."""

    player: PlayerId
    frozen: bool
    role: str | None
    """None for one that was supplied."""
    period: int
    parent: PlayerId | None
    rating: float
    deviation: float
    """Standard deviation of the rating's error."""
    games: int
    """Pairs of sides that counted."""
    wins: int
    draws: int
    losses: int
    champion: bool
    share: float | None
    """How often it is played in the equilibrium of the frozen players; None where that is not known."""
    hyperparameters: Mapping[str, float]

    def as_dict(self) -> dict[str, Any]:
        """Returns it as a JSON object."""
        return asdict(self)


def standings(state: LeagueState, strategy: Mapping[PlayerId, float] = NOBODY) -> list[Standing]:
    """Returns all players, the strongest first.

    Args:
      state: Of the league.
      strategy: Equilibrium of the frozen players, if one was solved.
    """
    found = [_standing(state, player, strategy) for player in state.roster.ids]
    return sorted(found, key=lambda standing: (-standing.rating, standing.player))


def by_level(found: Sequence[Standing], level: float) -> Standing:
    """Returns the frozen player of a level of difficulty: 0 is the weakest, 1 the strongest.

    Raises:
      LeagueError: The level lies outside [0, 1], or nobody is frozen.
    """
    if not 0 <= level <= 1:
        raise LeagueError(f"a level is a number in [0, 1], got {level}")
    frozen = _frozen(found)
    return frozen[round((1 - level) * (len(frozen) - 1))]


def by_rating(found: Sequence[Standing], rating: float) -> Standing:
    """Returns the frozen player whose rating is nearest.

    Raises:
      LeagueError: Nobody is frozen.
    """
    return min(_frozen(found), key=lambda standing: abs(standing.rating - rating))


def _frozen(found: Sequence[Standing]) -> list[Standing]:
    frozen = [standing for standing in found if standing.frozen]
    if not frozen:
        raise LeagueError("the league has no frozen player yet; the first comes with the first freeze")
    return frozen


def _standing(state: LeagueState, player: PlayerId, strategy: Mapping[PlayerId, float]) -> Standing:
    found, rating, tally = state.roster.get(player), state.ratings.rating(player), state.tallies[player]
    return Standing(
        player=player,
        frozen=isinstance(found, FrozenPlayer),
        role=None if found.role is None else str(found.role),
        period=found.period,
        parent=found.parent,
        rating=rating.mean,
        deviation=rating.deviation,
        games=tally.games,
        wins=tally.wins,
        draws=tally.draws,
        losses=tally.losses,
        champion=player == state.championship.champion,
        share=strategy.get(player),
        hyperparameters=dict(found.hyperparameters),
    )
