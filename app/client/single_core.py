"""Each game on its own: one ``/step`` request a tick."""

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass

from app.client.environments import Environments
from app.client.errors import StepFailedError
from app.client.game import Game, Slot, action_of, stop_of
from app.client.game_client import GameClient
from app.client.result import Scores
from app.client.steps import StepItem, decode, encode


@dataclass(slots=True)
class SingleCore:
    """Plays the games of each slot on their own; with a connection a slot none waits for another.

    Attributes:
      client: Connections to the service.
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
        await self._together([self._play_slot(slot, stop) for slot in self.slots])

    async def close_open_games(self) -> None:
        """Sends the stop of each game under way: as truncated, unless its environment has ended it."""
        await self._together([self._stop(slot, slot.game) for slot in self.slots if slot.game is not None])

    async def _together(self, parts: Sequence[Coroutine[None, None, None]]) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                for part in parts:
                    group.create_task(part)
        except BaseExceptionGroup as failures:
            raise failures.exceptions[0] from failures

    async def _play_slot(self, slot: Slot, stop: asyncio.Event) -> None:
        while not stop.is_set() and not slot.finished:
            game = slot.game or slot.open(self.environments)
            if game is None:
                return
            try:
                await self._play_game(slot, game, stop)
            except StepFailedError as failure:
                slot.fail(game, failure, self.scores)

    async def _play_game(self, slot: Slot, game: Game, stop: asyncio.Event) -> None:
        environments, index = self.environments, slot.index
        await self._ask(game.start(self.options))
        while not game.over:
            if stop.is_set():
                return
            answer = await self._ask(game.tick(environments.observations[index], environments.action_masks[index]))
            self.scores.ticks += 1
            environments.step({index: action_of(decode(answer), environments.read_action)})
            game.rewarded(environments.rewards[index], environments.terminated[index] or environments.truncated[index])
        await self._stop(slot, game)

    async def _stop(self, slot: Slot, game: Game) -> None:
        await self._ask(stop_of(game, self.environments, slot.index))
        slot.game = None
        if game.over:
            self.scores.finish(game.episode_return)

    async def _ask(self, item: StepItem) -> bytes:
        return await self.client.step(item["session"], item["kind"], item["seq"], encode(item.get("body")))
