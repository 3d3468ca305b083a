"""Plays games of Godot RL Agents: the game connects, as it would to its trainer."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from app.bridges.errors import BridgeError
from app.bridges.godot.frames import MAJOR_VERSION, MINOR_VERSION, Frame, read_frame, write_frame
from app.bridges.godot.spaces import AgentSpaces, read_spaces
from app.bridges.listening import serve_streams
from app.bridges.players import Players
from app.bridges.serving import Bridge

log = logging.getLogger(__name__)


async def serve(bridge: Bridge, listening: Callable[[int], None]) -> None:
    """Plays all games that connect until the bridge is over.

    Raises:
      PortInUseError: Somebody else listens on the port.
    """

    async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _Game(bridge, reader, writer).play()

    await serve_streams(bridge, play, listening)


@dataclass(frozen=True, slots=True)
class _Game:
    """One game that has connected."""

    bridge: Bridge
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def play(self) -> None:
        """Plays until the game leaves or the bridge is over.

        Raises:
          SparringError: The game or the service says what the other cannot take.
        """
        await self._send({"type": "handshake", "major_version": MAJOR_VERSION, "minor_version": MINOR_VERSION})
        spaces = read_spaces(await self._ask({"type": "env_info"}, "env_info"))
        log.info("a Godot game with %d agents", len(spaces))
        async with self.bridge.players(lambda agent: spaces[agent].policy) as players:
            frame = await self._ask({"type": "reset"}, "reset")
            self._look(players, spaces, frame)
            while not self.bridge.over.is_set():
                played = await self.bridge.play(players)
                named = self.bridge.settings.named
                actions = [one.action(played[agent], named=named) for agent, one in enumerate(spaces)]
                if self.bridge.over.is_set():
                    break
                self._look(players, spaces, await self._ask({"type": "action", "action": actions}, "step"))
        await self._send({"type": "close"})

    def _look(self, players: Players[Any], spaces: Sequence[AgentSpaces], frame: Frame) -> None:
        """Notes what all agents see; what one sees whose game is over belongs to its next game."""
        count = len(spaces)
        seen = _list("obs", frame, count)
        first = frame["type"] == "reset"
        rewards = [0.0] * count if first else _list("reward", frame, count)
        over = [False] * count if first else _list("done", frame, count)
        for agent, one in enumerate(spaces):
            observation = one.observation(seen[agent], named=self.bridge.settings.named)
            reward = _number(rewards[agent])
            if over[agent]:
                players.leave(agent, None, reward, terminated=True)
                reward = 0.0
            players.look(agent, observation, reward)

    async def _ask(self, message: Frame, kind: str) -> Frame:
        await self._send(message)
        return await read_frame(self.reader, kind, self.bridge.settings.idle_s)

    async def _send(self, message: Frame) -> None:
        self.writer.write(write_frame(message))
        async with asyncio.timeout(self.bridge.settings.idle_s):
            await self.writer.drain()


def _list(name: str, frame: Frame, count: int) -> list[Any]:
    values = frame.get(name)
    if not isinstance(values, list) or len(values) != count:
        raise BridgeError(f"{name} is {str(values)[:80]}; allowed is a list with a part for each of {count} agents")
    return values


def _number(reward: Any) -> float:
    if isinstance(reward, bool) or not isinstance(reward, int | float):
        raise BridgeError(f"a reward is {str(reward)[:80]}; allowed is a number")
    return float(reward)
