"""Learning periods: when a player is frozen, what it goes on as, and whose turn it is at a trainer."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from app.errors import LeagueError
from app.league.events import Event, Froze, Joined, Turned
from app.league.hyperparameters import initial, mutated
from app.league.joining import initial_weights
from app.league.payoff import PlayerId
from app.league.players import FrozenPlayer, LearningPlayer, Role, Weights, frozen_id
from app.league.schedule import next_turn
from app.league.settings import LeagueSettings
from app.league.state import LeagueState
from app.seeding import Draws, derive


@dataclass(frozen=True, slots=True)
class Due:
    """What is to be done with a learning player now."""

    freeze: bool = False
    anew: bool = False
    """Whether it is to begin anew after that, because it beats those whom it is to beat."""
    turn: bool = False
    """Whether its trainer is to go on with another player."""


@dataclass(frozen=True, slots=True)
class Freeze:
    """What came of a freeze."""

    frozen: FrozenPlayer
    learning: LearningPlayer
    """What the player goes on as; its ``weights``, where there are any, are to be taken over by its trainer."""


class Periods:
    """Decides about learning periods."""

    def __init__(self, settings: LeagueSettings, state: LeagueState, do: Callable[[Event], None]) -> None:
        self._settings = settings
        self._state = state
        self._do = do

    def due(self, player: PlayerId, updates: int) -> Due:
        """Returns what a trainer is to do with its player.

        Args:
          player: Who learns.
          updates: Those of its period since the trainer took it over.

        Raises:
          LeagueError: The player does not learn here.
        """
        learning = self._state.roster.learner(player)
        rule, total = self._settings.learners[player].freezing, learning.updates + updates
        worst = self._worst_rate(learning)
        anew = rule.reset_winrate is not None and worst is not None and worst >= rule.reset_winrate
        early = rule.winrate is not None and worst is not None and worst >= rule.winrate and total >= rule.min_updates
        freeze, slice_updates = anew or early or total >= rule.every_updates, self._settings.slice_updates
        over = freeze if slice_updates is None else updates >= slice_updates
        return Due(freeze=freeze, anew=anew, turn=over and self._next(learning) != player)

    def freeze(
        self, player: PlayerId, period: int, weights: Weights, now_s: float, *, anew: bool | None = None
    ) -> Freeze:
        """Freezes a learning player; asked again about a period that is frozen already, it says what came of that.

        Args:
          player: Who is frozen.
          period: The period that ends.
          weights: What the player has become.
          now_s: The present, in Unix seconds.
          anew: Whether it begins anew; None: as its ``reset_probability`` has it.

        Raises:
          LeagueError: The player does not learn here, or the period has not begun.
        """
        learning = self._state.roster.learner(player)
        was = self._state.roster.frozen.get(frozen_id(player, period))
        if was is not None:
            return Freeze(was, learning)
        if period != learning.period:
            raise LeagueError(f"player {player!r} is in period {learning.period}; that is the one to end, got {period}")
        frozen = FrozenPlayer(
            id=frozen_id(player, period),
            role=learning.role,
            learner=player,
            parent=learning.parent,
            weights=weights,
            period=period,
            hyperparameters=learning.hyperparameters,
            since_s=now_s,
            trainer=learning.trainer,
        )
        after, changed = self._after(learning, frozen, anew)
        self._do(Froze(frozen, replace(after, since_s=now_s), changed))
        return Freeze(frozen, self._state.roster.learner(player))

    def taken_over(self, player: PlayerId) -> LearningPlayer:
        """Notes that a trainer has taken over and published a player's weights: it plays with the newest from now on.

        Raises:
          LeagueError: The player does not learn here.
        """
        learning = self._state.roster.learner(player)
        if learning.weights is not None:
            self._do(Joined(replace(learning, weights=None)))
        return self._state.roster.learner(player)

    def turn(self, trainer: str, leaving: PlayerId, weights: Weights, updates: int) -> LearningPlayer:
        """Turns a trainer to the next of its players, and returns that one; asked again, it says who has the turn.

        Args:
          trainer: Trainer of the config.
          leaving: Player whom it leaves.
          weights: What that one has become.
          updates: Updates of its period since the trainer took it over.

        Raises:
          LeagueError: The player does not learn here, or another trainer has it.
        """
        learning = self._state.roster.learner(leaving)
        if learning.trainer != trainer:
            raise LeagueError(f"player {leaving!r} is {learning.trainer}'s, got trainer {trainer!r}")
        if self._state.turns[trainer] != leaving:
            return self._state.roster.learner(self._state.turns[trainer])
        entering = self._state.roster.learner(self._next(learning))
        if entering.id != leaving:
            left = replace(learning, weights=weights, updates=learning.updates + updates)
            self._do(Turned(trainer, left, entering))
        return entering

    def _after(self, learning: LearningPlayer, frozen: FrozenPlayer, anew: bool | None) -> tuple[LearningPlayer, bool]:
        """Returns what a player goes on as, and whether that has weights of somebody else."""
        wanted = self._settings.learners[learning.id]
        draws = Draws(derive(self._settings.seed, "period", learning.id, learning.period))
        following = replace(learning, period=learning.period + 1, weights=None, updates=0)
        if draws.random() < wanted.freezing.reset_probability if anew is None else anew:
            values = initial(wanted.spans)
            weights = initial_weights(learning.initial, self._settings)
            return replace(following, parent=None, weights=weights, hyperparameters=values), True
        copying = self._settings.copying
        better = None if copying is None else self._better(learning, copying.below, draws)
        values = dict(learning.hyperparameters if better is None else better.hyperparameters)
        if copying is not None and (better is not None or copying.mutate == "always"):
            values = mutated(values, wanted.spans, copying.mutation, draws)
        source = frozen if better is None else better
        weights_taken = None if better is None else better.weights
        return replace(following, parent=source.id, weights=weights_taken, hyperparameters=values), better is not None

    def _better(self, learning: LearningPlayer, below: float, draws: Draws) -> FrozenPlayer | None:
        """Returns the newest of what another player of the population was, who beats this one; None without such."""
        population = self._settings.learners[learning.id].population
        others = [
            other
            for other in self._state.roster.learning
            if other != learning.id and population and self._settings.learners[other].population == population
        ]
        frozen = [past[-1] for past in map(self._state.roster.frozen_of, others) if past]
        if not frozen:
            return None
        other = draws.choice(frozen)
        expected = float(self._state.ratings.expected(learning.id, [other])[0])
        return self._state.roster.frozen[other] if expected < below else None

    def _worst_rate(self, learning: LearningPlayer) -> float | None:
        """Returns the win rate against the hardest of those whom a player is to beat; None where there is nobody."""
        roster = self._state.roster
        others = roster.mains if learning.role is Role.MAIN_EXPLOITER else roster.frozen_ids
        targets = [other for other in others if other != learning.id]
        return float(np.min(self._state.payoff.win_rates(learning.id, targets))) if targets else None

    def _next(self, learning: LearningPlayer) -> PlayerId:
        players = [p.id for p in self._state.roster.learning.values() if p.trainer == learning.trainer]
        return next_turn(players, learning.id)
