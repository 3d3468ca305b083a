"""Serves RLlib's external clients: they get weights, act by themselves, and send what they played."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from app.bridges.errors import BridgeError
from app.bridges.listening import serve_streams
from app.bridges.rllink.episodes import Chunk, read_chunks
from app.bridges.rllink.frames import read_message, write_message
from app.bridges.rllink.weights import Parameters
from app.bridges.serving import Bridge, Serve
from app.bridges.told import ToldPlayers
from app.types import Version

log = logging.getLogger(__name__)

MAX_OPEN: Final = 10_000
"""Episodes of one client that may be open at once."""


class Weights(Protocol):
    """Where a client's weights come from."""

    async def newest(self) -> tuple[Version, Parameters]:
        """Returns the newest version and its parameters."""

    async def close(self) -> None:
        """Lets go what it holds."""


def rllink(weights: Weights, config: bytes | None) -> Serve:
    """Returns what serves the clients until the bridge is over.

    Args:
      weights: What they act with.
      config: The pickled AlgorithmConfig that they may ask for; None: they must not ask.
    """

    async def serve(bridge: Bridge, listening: Callable[[int], None]) -> None:
        async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await _Client(bridge, weights, config, reader, writer).play()

        try:
            await serve_streams(bridge, play, listening)
        finally:
            await weights.close()

    return serve


@dataclass(slots=True)
class _Client:
    """One client that has connected."""

    bridge: Bridge
    weights: Weights
    config: bytes | None
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    version: Version | None = None
    """Of the weights that it got last: what it plays is played by these."""
    rewards: dict[str, float] = field(default_factory=dict)
    """Of each open episode the reward of its last action, which is told with what follows."""

    async def play(self) -> None:
        """Answers until the client leaves or the bridge is over.

        Raises:
          SparringError: The client or the service says what the other cannot take.
        """
        async with self.bridge.told() as told:
            while not self.bridge.over.is_set():
                message = await read_message(self.reader, self.bridge.settings.idle_s)
                match message["type"]:
                    case "PING":
                        await self._send("PONG")
                    case "GET_CONFIG":
                        await self._send_config()
                    case "GET_STATE":
                        await self._send_state()
                    case "EPISODES" | "EPISODES_AND_GET_STATE" as kind:
                        await self._take(told, read_chunks(message))
                        if kind == "EPISODES_AND_GET_STATE":
                            await self._send_state()
                    case kind:
                        raise BridgeError(
                            f"the client sent {kind[:40]!r}; allowed are PING, GET_CONFIG, GET_STATE, EPISODES and "
                            "EPISODES_AND_GET_STATE"
                        )

    async def _take(self, told: ToldPlayers, chunks: list[Chunk]) -> None:
        if self.version is None:
            raise BridgeError("the client sent EPISODES before it asked for weights; send GET_STATE first")
        for chunk in chunks:
            if chunk.episode not in self.rewards and len(self.rewards) >= MAX_OPEN:
                raise BridgeError(f"{MAX_OPEN} episodes of the client are open; allowed are no more")
            await self._tell(told, chunk, str(self.version))

    async def _tell(self, told: ToldPlayers, chunk: Chunk, version: str) -> None:
        reward = self.rewards.pop(chunk.episode, 0.0)
        steps = zip(chunk.observations, chunk.actions, chunk.log_probs, chunk.rewards, strict=False)
        for observation, action, log_prob, brought in steps:
            done = {"action": action, "log_prob": log_prob, "version": version}
            await told.tell(chunk.episode, {"observation": observation, "reward": reward, **done})
            reward = brought
        if chunk.terminated or chunk.truncated:
            ended, cut = chunk.terminated, chunk.truncated
            await told.end(chunk.episode, chunk.observations[-1], reward, terminated=ended, truncated=cut)
        else:
            self.rewards[chunk.episode] = reward
        await told.flush()

    async def _send_config(self) -> None:
        if self.config is None:
            raise BridgeError("the client asks for its AlgorithmConfig; name its file: --rllib-config")
        await self._send("SET_CONFIG", config=self.config)

    async def _send_state(self) -> None:
        self.version, parameters = await self.weights.newest()
        number = self.version.number + 1  # To RLlib 0 means that the weights have no number.
        await self._send("SET_STATE", state={"rl_module": parameters, "weights_seq_no": number})

    async def _send(self, kind: str, **fields: Any) -> None:
        self.writer.write(write_message(kind, **fields))
        async with asyncio.timeout(self.bridge.settings.idle_s):
            await self.writer.drain()
