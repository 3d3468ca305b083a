"""Agent for games that speak observation in, action out."""

import math
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, field_validator

from app.agents.agent import Agent, AgentContext, version_of_text, version_text
from app.agents.json_arrays import everything_allowed, read_mask, read_observation, write_action
from app.agents.json_rewards import read_reward
from app.agents.unroll import Step
from app.errors import BadPayloadError, ModelMismatchError, SparringError
from app.models.distributions.action import draw
from app.models.question import GREEDY, Question, first_state
from app.sessions.session import EndCause
from app.types import Purpose, RowKind, Version
from app.wire.options import parse_options
from app.wire.payload import Payload
from app.wire.trees import Tree

UNKNOWN_TICKS: Final = 2**20
"""Numbers left free where nobody knows how many ticks are missing: more than a game has between two snapshots."""


TEMPERATURE: Final = "temperature"
"""Hyperparameter of a league's learning period that says how actions are drawn."""


class GymOptions(BaseModel):
    """What a start may carry."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model_version: str | None = None
    """Version that answers the whole game, such as "1.57"; None: the newest."""
    greedy: bool | None = None
    """Whether the most probable action is taken; None: in an evaluated game, and where randomness would serve learning
    alone also in one that is but played."""
    temperature: float | None = Field(None, gt=0, allow_inf_nan=False)
    """Actions are drawn with each probability to the power of 1 / temperature: below 1 more of the likely ones, above 1
    of the others; None: that of the league's learning period, else 1. Greedy games know none."""

    @field_validator("model_version")
    @classmethod
    def _is_a_version(cls, text: str | None) -> str | None:
        if text is not None:
            Version.parse(text)
        return text


class GymAgent(Agent):
    """Plays a game of observations and actions, as nested as the model's.

    A tick is ``{"observation": …, "reward": r, "action_mask": […]}``, where the reward is that of the previous action
    and the mask is optional; the answer is ``{"action": a}``. Observation, mask and action are lists and numbers, in
    objects where the model has names for its parts. Where it names rewards, ``r`` is an object with a number for each,
    or a plain 0. A stop is ``{"observation": final, "reward": r, "terminated": bool, "truncated": bool}``, and it may
    hold the mask of the final observation. A start may carry ``{"model_version": "1.57",
    "greedy": true, "temperature": 0.5}``, each optional.
    """

    options = GymOptions

    def __init__(self, context: AgentContext) -> None:
        """Makes the agent of one session.

        Raises:
          SparringError: The config gives the agent no model, or the league's period a temperature that is none.
        """
        super().__init__(context)
        if context.model is None:
            raise SparringError("a GymAgent asks a model; name one under agents.<name>.model")
        self._model = context.model
        self._spec = context.model.spec
        self._pinned: Version | None = None
        explores = any(leaf.explores for leaf in self._spec.actions.leaves)
        self._greedy = context.purpose is Purpose.EVALUATE or (explores and context.purpose is Purpose.PLAY)
        self._temperature = context.hyperparameters.get(TEMPERATURE, 1.0)
        if not 0 < self._temperature < math.inf:
            raise SparringError(f"the hyperparameter {TEMPERATURE} is {self._temperature}; allowed is above 0")
        self._unroll = context.unroll
        self._everything = everything_allowed(self._spec)
        self._state: Any = first_state(self._spec)
        """The model's state behind the last tick, nested like the model's; None without one."""
        self._return = 0.0
        """Of named rewards their sum."""
        self._returns = dict.fromkeys(self._spec.rewards, 0.0)
        """Of each reward that the model names."""
        self._ticks = 0
        self._acted = False
        """Whether an action still waits for its reward."""
        self._whole = True
        """Whether the episode was seen from its first tick on; else its return is unknown."""

    async def on_start(self, options: Payload) -> Payload:
        """Begins an episode; an evaluated one is played by one version from start to end."""
        given = parse_options(GymOptions, options)
        if given.greedy is not None:
            self._greedy = given.greedy
        if given.temperature is not None:
            self._temperature = given.temperature
        if self._greedy and self._unroll is not None:
            self._unroll = self._unroll.unlearned()
        wanted = given.model_version
        if wanted is not None or self.context.purpose is Purpose.EVALUATE:
            self._pinned = await self._hold(None if wanted is None else Version.parse(wanted))
        return None

    async def on_tick(self, payload: Payload) -> Payload:
        """Returns the action for an observation."""
        tick = json_object("a tick", payload)
        observation = read_observation(tick.get("observation"), self._spec.inputs)
        mask = read_mask(tick.get("action_mask"), self._spec)
        self._take_reward(tick)
        unroll = self._unroll
        if unroll is not None:
            unroll.reached(observation, mask)
        rng = self.context.rng
        uniforms = GREEDY if self._greedy else draw(self._spec.actions, rng.random, rng.own)
        try:
            decision = await self._model.decide(
                Question(observation, uniforms, mask, self._pinned, self._state, temperature=self._temperature)
            )
        except BaseException:
            if unroll is not None:  # The game core goes on without us: what comes next does not follow from here.
                unroll.cut(RowKind.LOST, observation, mask)
            raise
        if unroll is not None:
            unroll.decided(Step(observation, self._everything if mask is None else mask, decision, self._state))
        self._state = decision.state
        self._ticks += 1
        self._acted = True
        self.version = decision.version
        self.context.board.put("decision", decision)
        return {"action": write_action(decision.action)}

    async def on_episode(self, payload: Payload, cause: EndCause) -> Payload:
        """Ends the episode; one that the service ends is truncated and counts for no statistic."""
        if payload is not None:
            self._stop(json_object("a stop", payload))
        elif self._unroll is not None:
            self._unroll.cut(RowKind.TRUNCATED, None)
        if self._pinned is not None:
            self._model.release(self._pinned)
        return None

    def on_resume(self, missed: int | None) -> None:
        """Cuts the trajectory: the ticks that follow do not begin where it ends."""
        self._acted = self._whole = False
        if self._unroll is not None:
            self._unroll.cut(RowKind.LOST, None)
            self._unroll.skip(UNKNOWN_TICKS if missed is None else missed)

    def state_dict(self) -> Tree:
        """Returns what the episode depends on; weights stay where they are."""
        return {
            "rng": self.context.rng.count,
            "version": version_text(self.version),
            "pinned": version_text(self._pinned),
            "greedy": self._greedy,
            "temperature": self._temperature,
            "return": self._return,
            "returns": dict(self._returns),
            "ticks": self._ticks,
            "acted": self._acted,
            "whole": self._whole,
            "state": self._state,
            "unroll": None if self._unroll is None else self._unroll.state_dict(),
        }

    async def load_state_dict(self, state: Tree) -> None:
        """Takes over an episode; one that plays a pinned version holds it here as well."""
        held = cast("dict[str, Any]", state)
        self.context.rng.count = held["rng"]
        self.version = version_of_text(held["version"])
        self._greedy, self._return, self._ticks = held["greedy"], held["return"], held["ticks"]
        self._temperature = held.get("temperature", self._temperature)
        self._returns = dict(held["returns"])
        self._acted, self._whole = held["acted"], held["whole"]
        states = self._spec.states  # What was packed is read-only, which torch does not know.
        self._state = states.unflatten([np.array(leaf) for leaf in states.flatten(held["state"])])
        if held["pinned"] is not None:
            self._pinned = await self._hold(Version.parse(held["pinned"]))
        if self._greedy and self._unroll is not None:
            self._unroll = self._unroll.unlearned()
        if held["unroll"] is None:
            self._unroll = None
        elif self._unroll is not None:
            self._unroll.load_state_dict(held["unroll"])

    async def _hold(self, version: Version | None) -> Version:
        try:
            return await self._model.ensure(version)
        except ModelMismatchError as error:
            raise BadPayloadError(f"model_version is {version}: {error}") from error

    def _stop(self, stop: dict[str, Any]) -> None:
        terminated, truncated = _boolean(stop, "terminated", False), _boolean(stop, "truncated", False)
        observation = read_observation(stop["observation"], self._spec.inputs) if "observation" in stop else None
        mask = read_mask(stop.get("action_mask"), self._spec)
        self._take_reward(stop)
        if self._unroll is not None:
            self._unroll.cut(_end(terminated), observation, mask)
        if (terminated or truncated) and self._whole:
            self.context.report(self._return, self._ticks)
            for name, returned in self._returns.items():
                self.context.measure(f"return/{name}", returned)

    def _take_reward(self, payload: dict[str, Any]) -> None:
        reward = read_reward(payload.get("reward", 0.0), self._spec)
        if self._acted:  # The first tick of an episode has no action to reward.
            self._acted = False
            total = reward if isinstance(reward, float) else self._note_named(reward)
            self._return += total
            self.context.board.put("reward", total)
            if self._unroll is not None:
                self._unroll.reward(reward)

    def _note_named(self, reward: NDArray[np.float32]) -> float:
        """Notes each of the named rewards, and returns their sum."""
        parts = dict(zip(self._spec.rewards, reward.tolist(), strict=True))
        for name, part in parts.items():
            self._returns[name] += part
            self.context.board.put(f"reward/{name}", part)
        return float(sum(parts.values()))


def _end(terminated: bool) -> RowKind:
    return RowKind.TERMINATED if terminated else RowKind.TRUNCATED


def json_object(what: str, payload: Payload) -> dict[str, Any]:
    """Returns a payload that is a JSON object.

    Raises:
      BadPayloadError: It is none.
    """
    if not isinstance(payload, dict):
        raise BadPayloadError(f"{what} is a JSON object, got {type(payload).__name__}")
    return cast("dict[str, Any]", payload)


def _boolean(payload: dict[str, Any], key: str, default: bool) -> bool:
    value = payload.get(key, default)
    if not isinstance(value, bool):
        raise BadPayloadError(f"{key} is {value!r}; allowed are true and false")
    return value
