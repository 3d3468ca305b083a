"""Agent that plays by chance: an opponent to begin with, and what learning has to beat."""

from typing import Any, Final

from app.agents.agent import Agent, AgentContext
from app.errors import BadPayloadError
from app.wire.payload import Payload


class RandomAgent(Agent):
    """Answers each tick with one of the choices that its ``action_mask`` allows, all equally likely."""

    def __init__(self, context: AgentContext, choices: int) -> None:
        """Makes the agent of one session.

        Args:
          context: The session's.
          choices: How many there are.

        Raises:
          ValueError: There is none.
        """
        super().__init__(context)
        if choices < 1:
            raise ValueError(f"choices is {choices}; allowed is at least 1")
        self._everything: Final = [True] * choices

    async def on_tick(self, payload: Payload) -> Payload:
        """Returns an action.

        Raises:
          BadPayloadError: The mask is not one flag a choice, or allows nothing.
        """
        given: Any = payload.get("action_mask") if isinstance(payload, dict) else None
        mask = self._everything if given is None else given
        if not isinstance(mask, list) or len(mask) != len(self._everything) or not any(mask):
            raise BadPayloadError(
                f"action_mask is {str(given)[:80]}; allowed is a list of {len(self._everything)} flags, not all 0"
            )
        allowed = [choice for choice, flag in enumerate(mask) if flag]
        return {"action": allowed[int(self.context.rng.random() * len(allowed))]}
