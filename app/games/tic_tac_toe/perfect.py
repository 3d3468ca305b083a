"""A perfect player of tic-tac-toe: the whole game solved by minimax, 5,478 positions."""

from functools import cache
from typing import Any

import numpy as np

from app.agents.agent import Agent
from app.errors import BadPayloadError
from app.games.tic_tac_toe.rules import Position
from app.wire.payload import Payload


@cache
def value(position: Position) -> int:
    """Returns what whoever moves gets if both play perfectly: 1 a win, 0 a draw, -1 a loss."""
    if position.over:
        return int(position.outcome)
    return max(-value(position.play(place)) for place in _free(position))


@cache
def best_places(position: Position) -> tuple[int, ...]:
    """Returns all moves that keep what the position is worth; none when the game is over."""
    if position.over:
        return ()
    worth = value(position)
    return tuple(place for place in _free(position) if -value(position.play(place)) == worth)


class PerfectPlayer(Agent):
    """Answers each tick with one of the best moves, all equally likely: nobody beats it."""

    async def on_tick(self, payload: Payload) -> Payload:
        """Returns a move.

        Raises:
          BadPayloadError: The observation shows no position in which the game goes on.
        """
        given: Any = payload.get("observation") if isinstance(payload, dict) else None
        try:
            places = best_places(Position.of_planes(np.asarray(given)))
        except (TypeError, ValueError) as error:
            raise BadPayloadError(f"observation shows no position: {error}") from error
        if not places:
            raise BadPayloadError("observation shows a full board; allowed is one with a free place")
        return {"action": places[self.context.rng.randrange(len(places))]}


def _free(position: Position) -> list[int]:
    return [place for place, mark in enumerate(position.marks) if mark == 0]
