"""Who plays: the model, and a script to compare it with."""

from collections.abc import Sequence
from typing import Any

from app.agents.agent import Agent
from app.agents.gym_agent import GymAgent

from mygame.game import LEFT, RIGHT, STAY


class Player(GymAgent):
    """Asks the model; where its answer would come too late, the basket stays."""

    def on_deadline(self, payload: Any) -> dict[str, int]:
        """Returns the answer to a tick whose time is up."""
        return {"action": STAY}


class Script(Agent):
    """Goes to where the apple will be."""

    async def on_tick(self, payload: Any) -> dict[str, int]:
        """Returns an action for an observation."""
        return {"action": follow(payload["observation"])}


def follow(observation: Sequence[float]) -> int:
    """Returns the step that leads from the basket to the apple."""
    basket, apple, *_ = observation
    return STAY if apple == basket else RIGHT if apple > basket else LEFT
