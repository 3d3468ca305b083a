"""Tic-tac-toe players looked at exactly: what a network plays everywhere, who exploits it, and which games it loses."""

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from app.games.tic_tac_toe.perfect import best_places
from app.games.tic_tac_toe.rules import PLACES, Position

from .players import Network, Script

Moves = dict[Position, int]
"""What is played in each position in which the game goes on."""


class Games(NamedTuple):
    """All games from both sides that can happen."""

    played: int
    lost: int


@cache
def positions() -> tuple[Position, ...]:
    """Returns all that can be reached and in which the game goes on."""
    found: dict[Position, None] = {}
    waiting = [Position.first()]
    while waiting:
        position = waiting.pop()
        if not position.over and position not in found:
            found[position] = None
            waiting += [following for _, following in behind(position)]
    return tuple(found)


@cache
def behind(position: Position) -> tuple[tuple[int, Position], ...]:
    """Returns each move that is allowed, and the position behind it."""
    return tuple((place, position.play(place)) for place in range(PLACES) if position.legal[place])


def most_probable(network: Network) -> Moves:
    """Returns what a network finds best, everywhere."""
    logits = network.logits(np.stack([position.planes() for position in positions()]))
    legal = np.stack([position.legal for position in positions()])
    return dict(zip(positions(), np.where(legal, logits, -np.inf).argmax(axis=1).tolist(), strict=True))


def against_the_perfect(network: Network) -> Games:
    """Returns the games of a network's most probable moves against all moves of a perfect player."""
    moves = most_probable(network)
    halves = [_games(moves, Position.first(), mine=mine) for mine in (True, False)]
    return Games(sum(half.played for half in halves), sum(half.lost for half in halves))


def exploiter(network: Network) -> Script:
    """Returns who wins most against a network's most probable moves, exactly; its equally good moves are drawn."""
    moves = most_probable(network)
    worth: dict[Position, float] = {}

    def value(position: Position) -> float:
        """Returns what the exploiter gets who has to move."""
        if position not in worth:
            worth[position] = max(answered(following) for _, following in behind(position))
        return worth[position]

    def answered(position: Position) -> float:
        """Returns what the exploiter gets when the network has to move."""
        if position.over:
            return -position.outcome
        following = position.play(moves[position])
        return following.outcome if following.over else value(following)

    def decide(planes: NDArray[np.float32], rng: np.random.Generator) -> int:
        position = Position.of_planes(planes)
        best = [place for place, following in behind(position) if answered(following) == value(position)]
        return best[int(rng.integers(len(best)))]

    return Script(decide)


def _games(moves: Moves, position: Position, *, mine: bool) -> Games:
    if position.over:
        return Games(1, int(position.lost and mine))
    chosen = (moves[position],) if mine else best_places(position)
    below = [_games(moves, position.play(place), mine=not mine) for place in chosen]
    return Games(sum(one.played for one in below), sum(one.lost for one in below))
