"""All games over one connection: one ``/steps`` request a frame."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from app.client.environments import Environments
from app.client.errors import failure_of
from app.client.game import STOP, TICK, Game, Slot, action_of, stop_of
from app.client.game_client import GameClient
from app.client.result import Scores
from app.client.steps import StepAnswer, StepItem


class Asked(NamedTuple):
    """One step of a frame, and whose it is."""

    slot: Slot
    game: Game
    item: StepItem


@dataclass(slots=True)
class VectorCore:
    """Plays the games of all slots in step.

    Attributes:
      client: Connection to the service.
      environments: One a slot.
      slots: Where games are played.
      scores: Counts, kept up to date.
      options: Body of each start.
    """

    client: GameClient
    environments: Environments
    slots: Sequence[Slot]
    scores: Scores
    options: Mapping[str, object]

    @property
    def policy_version(self) -> str | None:
        """Returns the version that the newest reply named."""
        return self.client.policy_version

    async def play(self, stop: asyncio.Event) -> None:
        """Plays until all slots are finished or ``stop`` is set, which leaves games open.

        Raises:
          SparringError: Playing on cannot help.
        """
        while not stop.is_set() and not all(slot.finished for slot in self.slots):
            frame = self._frame()
            actions = self._read(frame, await self._ask(frame)) if frame else {}
            self._step(actions)

    async def close_open_games(self) -> None:
        """Sends the stop of each game under way: as truncated, unless its environment has ended it."""
        frame = [
            Asked(slot, slot.game, stop_of(slot.game, self.environments, slot.index))
            for slot in self.slots
            if slot.game is not None
        ]
        if frame:
            self._read(frame, await self._ask(frame))

    async def _ask(self, frame: Sequence[Asked]) -> list[StepAnswer]:
        return await self.client.steps([asked.item for asked in frame])

    def _frame(self) -> list[Asked]:
        observations, masks = self.environments.observations, self.environments.action_masks
        frame = []
        for slot in self.slots:
            game = slot.game
            if game is not None and game.over:
                frame.append(Asked(slot, game, stop_of(game, self.environments, slot.index)))
                slot.game = game = None
            if game is None:
                game = slot.open(self.environments)
                if game is None:
                    continue
                frame.append(Asked(slot, game, game.start(self.options)))
            frame.append(Asked(slot, game, game.tick(observations[slot.index], masks[slot.index])))
        return frame

    def _read(self, frame: Sequence[Asked], answers: Sequence[StepAnswer]) -> dict[int, object]:
        actions: dict[int, object] = {}
        failed: set[str] = set()
        for (slot, game, item), answer in zip(frame, answers, strict=True):
            if "error" in answer:
                if game.session not in failed:  # What stands behind a failed step fails with it.
                    failed.add(game.session)
                    fault = answer["error"]
                    slot.fail(game, failure_of(fault["code"], fault["message"]), self.scores)
            elif item["kind"] == TICK:
                actions[slot.index] = action_of(answer.get("body"), self.environments.read_action)
                self.scores.ticks += 1
            elif item["kind"] == STOP and game.over:
                self.scores.finish(game.episode_return)
        return actions

    def _step(self, actions: Mapping[int, object]) -> None:
        environments = self.environments
        environments.step(actions)
        rewards, terminated, truncated = environments.rewards, environments.terminated, environments.truncated
        for slot in self.slots:
            game, index = slot.game, slot.index
            if game is not None and index in actions:
                game.rewarded(rewards[index], terminated[index] or truncated[index])
