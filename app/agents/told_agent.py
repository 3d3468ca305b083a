"""Agent for games that act by themselves, with our weights or their own: it is told what was done."""

from typing import Any

import numpy as np

from app.agents.agent import AgentContext
from app.agents.gym_agent import GymAgent, json_object
from app.agents.json_arrays import read_action, read_mask, read_observation
from app.agents.unroll import Step
from app.errors import BadPayloadError, SparringError
from app.models.question import Decision
from app.types import Amount, Version
from app.wire.payload import Payload


class ToldAgent(GymAgent):
    """Turns what a game core has played by itself into trajectories; it decides nothing and asks no model.

    A tick is that of a ``GymAgent`` with what was done: ``{"observation": …, "reward": r, "action": a, "log_prob": l,
    "version": "1.57"}``, where the reward is that of the action before, the log-probability is the one with which the
    action was drawn, and the version is that of the weights that it was drawn from. The answer is empty.
    """

    def __init__(self, context: AgentContext) -> None:
        """Makes the agent of one session.

        Raises:
          SparringError: The config gives the agent no model, or one with a state, which nobody tells.
        """
        super().__init__(context)
        if self._spec.states.leaves:
            raise SparringError("a ToldAgent is told no state; its model has one, allowed is a model without")
        self._nothing: Amount = np.zeros(len(self._spec.rewards), np.float32) if self._spec.rewards else 0.0

    async def on_tick(self, payload: Payload) -> Payload:
        """Takes what was seen and done.

        Raises:
          BadPayloadError: It does not fit the model.
        """
        tick = json_object("a tick", payload)
        observation = read_observation(tick.get("observation"), self._spec.inputs)
        mask = read_mask(tick.get("action_mask"), self._spec)
        action = read_action(tick.get("action"), self._spec)
        decision = Decision(action, _log_prob(tick.get("log_prob")), self._nothing, _version(tick.get("version")))
        self._take_reward(tick)
        if self._unroll is not None:
            self._unroll.reached(observation, mask)
            self._unroll.decided(Step(observation, self._everything if mask is None else mask, decision))
        self._ticks += 1
        self._acted = True
        self.version = decision.version
        return None


def _log_prob(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(value):
        raise BadPayloadError(f"log_prob is {value!r}; allowed is a finite number")
    return float(value)


def _version(value: Any) -> Version:
    try:
        return Version.parse(value)
    except (ValueError, AttributeError) as error:
        raise BadPayloadError(f"version is {value!r}; allowed is generation.number, such as 1.57") from error
