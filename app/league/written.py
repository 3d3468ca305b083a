"""Matches as trees, in which they travel with a game."""

from dataclasses import asdict
from typing import Any, cast

from app.errors import LeagueError
from app.league.matches import Match, Side
from app.league.players import Weights
from app.types import Purpose
from app.wire.trees import Tree


def match_tree(match: Match) -> Tree:
    """Returns what ``match_of`` reads."""
    tree: Tree = {**asdict(match), "sides": [_side_tree(side) for side in match.sides], "purpose": str(match.purpose)}
    return tree


def match_of(tree: Tree) -> Match:
    """Returns the match of a tree.

    Raises:
      LeagueError: It is none.
    """
    try:
        held = cast("dict[str, Any]", tree)
        sides = tuple(_side_of(side) for side in held["sides"])
        return Match(held["id"], sides, Purpose(held["purpose"]), held["opened_s"])
    except (KeyError, TypeError, ValueError) as error:
        raise LeagueError(f"this is no match: {type(error).__name__}: {error}") from error


def _side_tree(side: Side) -> Tree:
    given = side.hyperparameters
    tree: Tree = {**asdict(side), "hyperparameters": None if given is None else dict(given)}
    return tree


def _side_of(held: dict[str, Any]) -> Side:
    weights = held["weights"]
    return Side(**{**held, "weights": None if weights is None else Weights(**weights)})
