"""All games over one connection: one ``/steps`` request a frame."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from app.client.environments import Environments
from app.client.errors import failure_of
from app.client.game import Game, Slot, action_of, stop_of
from app.client.game_client import GameClient
from app.client.result import Scores
from app.client.steps import STOP, TICK, StepAnswer, StepItem
from app.client.turns import Turns, closing


class Asked(NamedTuple):
    """One step of a frame, and whose it is."""

    slot: Slot
    game: Game
    item: StepItem

    @property
    def turn(self) -> int:
        """Returns which game's turn it is."""
        return self.slot.index


class VectorCore:
    """Plays the games of all slots in step."""

    def __init__(
        self,
        client: GameClient,
        environments: Environments,
        slots: Sequence[Slot],
        scores: Scores,
        options: Mapping[str, object],
    ) -> None:
        """Keeps the parts; no game is begun.

        Args:
          client: Connection to the service.
          environments: One a slot.
          slots: Where games are played.
          scores: Counts, kept up to date.
          options: Body of each start.
        """
        self.client, self.environments, self.slots = client, environments, slots
        self.scores, self.options = scores, options
        self._turns = Turns[Asked](client)

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
            self._step(self._read(await self._turns.ask(self._frame())))

    async def close_open_games(self) -> None:
        """Sends the stop of each game under way: as truncated, unless its environment has ended it."""
        stops = [
            Asked(slot, slot.game, stop_of(slot.game, self.environments, slot.index))
            for slot in self.slots
            if slot.game is not None
        ]
        frame = closing(self._turns, stops)
        if frame:
            self._read(list(zip(frame, await self.client.steps([asked.item for asked in frame]), strict=True)))

    def _frame(self) -> list[Asked]:
        observations, masks = self.environments.observations, self.environments.action_masks
        frame = []
        for slot in self.slots:
            if self._turns.waits(slot.index):
                continue
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

    def _read(self, answered: Sequence[tuple[Asked, StepAnswer]]) -> dict[int, object]:
        actions: dict[int, object] = {}
        failed: set[str] = set()
        for (slot, game, item), answer in answered:
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
