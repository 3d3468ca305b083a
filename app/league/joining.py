"""Who comes and goes when a league begins, or goes on by other settings."""

from collections.abc import Iterator
from dataclasses import replace

from app.errors import LeagueError
from app.league.events import Event, Joined, Left
from app.league.hyperparameters import Spans
from app.league.payoff import PlayerId
from app.league.players import UNTRAINED, FrozenPlayer, Hyperparameters, LearningPlayer, Weights
from app.league.roster import Roster
from app.league.settings import LeagueSettings


def joining(roster: Roster, settings: LeagueSettings, now_s: float) -> Iterator[Event]:
    """Yields what makes the players of a league those of its settings.

    Learning players come, take up another role or trainer, or leave. Frozen ones are met as long as they are among the
    supplied ones, or some player still has their trainer; else they are away, and may come back.

    Args:
      roster: Of the league; it may change between two events as they say.
      settings: Of the league.
      now_s: The present, in Unix seconds.
    """
    yield from (Left(player) for player in list(roster.learning) if player not in settings.learners)
    yield from _frozen_ones(roster, settings)
    new = [supplied for name, supplied in settings.supplied.items() if name not in roster]
    yield from (Joined(replace(supplied, since_s=now_s)) for supplied in new)
    for name in settings.learners:
        known = roster.learning.get(name)
        after = _new(roster, name, settings, now_s) if known is None else _changed(roster, known, settings)
        if after != known:
            yield Joined(after)


def changed_supplies(roster: Roster, settings: LeagueSettings) -> Iterator[PlayerId]:
    """Yields the supplied players whom the settings describe otherwise than the league knows them."""
    for name, wanted in settings.supplied.items():
        known = roster.frozen.get(name)
        if known is not None and replace(known, since_s=wanted.since_s) != wanted:
            yield name


def initial_weights(name: str | None, settings: LeagueSettings) -> Weights:
    """Returns the weights of an initial model; None: untrained ones.

    Raises:
      LeagueError: There is no such model.
    """
    if name is None:
        return UNTRAINED
    if name not in settings.initial_models:
        there = ", ".join(settings.initial_models) or "none"
        raise LeagueError(f"the league has no initial model {name!r}; there are {there}")
    return settings.initial_models[name]


def _frozen_ones(roster: Roster, settings: LeagueSettings) -> Iterator[Event]:
    trainers = {wanted.trainer for wanted in settings.learners.values()}
    leaving = [player for player in roster.frozen.values() if not _is_met(player, settings, trainers)]
    coming = [player for player in roster.away.values() if _is_met(player, settings, trainers)]
    yield from (Left(player.id) for player in leaving)
    yield from (Joined(player) for player in coming)


def _is_met(player: FrozenPlayer, settings: LeagueSettings, trainers: set[str]) -> bool:
    return player.id in settings.supplied if player.learner is None else player.trainer in trainers


def _new(roster: Roster, name: PlayerId, settings: LeagueSettings, now_s: float) -> LearningPlayer:
    """Returns a learning player; one of that name that was here before has left periods behind.

    Where another one has its trainer it waits with first weights of its own: the trainer's newest are that one's.
    """
    wanted, frozen = settings.learners[name], (*roster.frozen.values(), *roster.away.values())
    waits = any(other.trainer == wanted.trainer for other in roster.learning.values())
    begins_here = wanted.initial is None and not waits
    return LearningPlayer(
        id=name,
        role=wanted.role,
        trainer=wanted.trainer,
        initial=wanted.initial,
        period=1 + max((player.period for player in frozen if player.learner == name), default=0),
        hyperparameters=_fitted({}, wanted.spans),
        weights=None if begins_here else initial_weights(wanted.initial, settings),
        since_s=now_s,
    )


def _changed(roster: Roster, known: LearningPlayer, settings: LeagueSettings) -> LearningPlayer:
    """Returns what a player goes on as; with another trainer that begins with what the player last was."""
    wanted = settings.learners[known.id]
    weights = known.weights
    if wanted.trainer != known.trainer and weights is None:
        parent = None if known.parent is None else roster.get(known.parent)
        weights = parent.weights if parent is not None else initial_weights(wanted.initial, settings)
    return replace(
        known,
        role=wanted.role,
        trainer=wanted.trainer,
        initial=wanted.initial,
        hyperparameters=_fitted(known.hyperparameters, wanted.spans),
        weights=weights,
    )


def _fitted(values: Hyperparameters, spans: Spans) -> dict[str, float]:
    """Returns a value for each hyperparameter: the present one, inside its bounds, or the first."""
    fitted = {}
    for name, span in spans.items():
        value = values.get(name, span.initial)
        if span.low is None or span.high is None:
            fitted[name] = span.initial  # It is never changed but by the config.
        else:
            fitted[name] = min(max(value, span.low), span.high)
    return fitted
