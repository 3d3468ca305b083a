"""A Pong player that follows a script: an opponent to begin with, and what learning has to beat."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from app.agents.agent import Agent
from app.errors import BadPayloadError
from app.games.pong.rules import DOWN, FRAMES_A_TICK, PADDLE_SPEED, STAY, UP
from app.wire.payload import Payload

NEAR: Final = FRAMES_A_TICK * PADDLE_SPEED / 2
"""Distance below which a move would lead away."""
OBSERVATION: Final = 6


def follow(observation: NDArray[np.floating]) -> int:
    """Returns the action that leads to the height of a ball that comes, and else back to the middle.

    Args:
      observation: See ``Rally.seen_by``, [6].
    """
    own, _, _, ball, forward, _ = observation.tolist()
    wanted = ball if forward < 0 else 0.0
    if abs(wanted - own) <= NEAR:
        return STAY
    return UP if wanted > own else DOWN


class FollowsTheBall(Agent):
    """Answers each tick by ``follow``."""

    async def on_tick(self, payload: Payload) -> Payload:
        """Returns an action.

        Raises:
          BadPayloadError: The observation is not six numbers.
        """
        given: Any = payload.get("observation") if isinstance(payload, dict) else None
        try:
            observation = np.asarray(given, np.float64)
        except (TypeError, ValueError) as error:
            raise BadPayloadError(f"observation is no array of numbers: {error}") from error
        if observation.shape != (OBSERVATION,):
            raise BadPayloadError(f"observation has shape {observation.shape}; allowed is ({OBSERVATION},)")
        return {"action": follow(observation)}
