"""Who plays: the model, and a script to begin with."""

from collections.abc import Sequence
from typing import Any, Final

from app.agents.agent import Agent, AgentContext
from app.agents.gym_agent import GymAgent

from mygame.game import LEFT, RIGHT, STAY

RESTS_EVERY: Final = 2
"""Steps of which the script leaves out one."""


class Player(GymAgent):
    """Asks the model; where its answer would come too late, the basket stays."""

    def on_deadline(self, payload: Any) -> dict[str, int]:
        """Returns the answer to a tick whose time is up."""
        return {"action": STAY}


class Script(Agent):
    """Goes to where the apple will be, and rests now and then."""

    def __init__(self, context: AgentContext) -> None:
        super().__init__(context)
        self.ticks = 0

    async def on_tick(self, payload: Any) -> dict[str, int]:
        """Returns an action for an observation."""
        self.ticks += 1
        return {"action": STAY if self.ticks % RESTS_EVERY == 0 else follow(payload["observation"])}


def follow(observation: Sequence[float]) -> int:
    """Returns the step that leads from the own basket to the apple."""
    basket, _, apple, _ = observation
    return STAY if apple == basket else RIGHT if apple > basket else LEFT
