"""Plays games of Unity's ML-Agents: the game calls, as it would its trainer."""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Any, Final

from google.protobuf.message import DecodeError

from app.bridges.errors import BridgeError
from app.bridges.players import Players
from app.bridges.serving import CLOSING_S, Bridge
from app.bridges.unity import unity_pb2 as pb
from app.bridges.unity.behavior import Behavior, picture_numbers, read_behavior, read_observation
from app.errors import PortInUseError, SparringError

log = logging.getLogger(__name__)

SERVICE: Final = "communicator_objects.UnityToExternalProto"
"""Name under which games call their trainer."""
MAJOR_VERSION: Final = "1"
"""Of the communicator."""
GOES_ON, ENDS = 200, 400
MAX_MESSAGE_BYTES: Final = 64 * 2**20
AGENTS_MAX: Final = 100_000
PICTURE_NUMBERS_MAX: Final = 2**26
"""Numbers that the pictures of all agents unpack to in a frame: a quarter of a gigabyte."""


async def serve(bridge: Bridge, listening: Callable[[int], None]) -> None:
    """Plays the games that call until the bridge is over.

    Raises:
      PortInUseError: Somebody else listens on the port.
    """
    import grpc  # noqa: PLC0415  # Of the extra.
    import grpc.aio  # noqa: PLC0415

    options = [("grpc.max_receive_message_length", MAX_MESSAGE_BYTES), ("grpc.so_reuseport", 0)]
    server = grpc.aio.server(options=options)
    async with AsyncExitStack() as leaving:
        games = _Games(bridge, leaving)
        handler = grpc.unary_unary_rpc_method_handler(games.exchange)
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, {"Exchange": handler}),))
        try:
            port = server.add_insecure_port(f"{bridge.settings.host}:{bridge.settings.port}")
        except RuntimeError as error:
            where = f"{bridge.settings.host}:{bridge.settings.port}"
            raise PortInUseError(f"{where} cannot be listened on: {error}; take another --port") from error
        await server.start()
        listening(port)
        await bridge.over.wait()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSING_S):
                await games.told_to_end.wait()
        await server.stop(CLOSING_S)
        await games.close()


class _Games:
    """The games that call, by the address of who calls: one game has one connection."""

    def __init__(self, bridge: Bridge, leaving: AsyncExitStack) -> None:
        self._bridge, self._leaving = bridge, leaving
        self._games: dict[str, _Game] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self.told_to_end = asyncio.Event()
        """Set when a game was told that the bridge is over, or when none plays."""
        self.told_to_end.set()

    async def exchange(self, request: bytes, context: Any) -> bytes:
        """Returns the answer to what a game says."""
        if (timer := self._timers.pop(context.peer(), None)) is not None:
            timer.cancel()
        try:
            message = pb.Envelope.FromString(request)
            answer = await self._answer(message, context.peer())
        except (SparringError, DecodeError) as error:
            log.error("a game is closed: %s", error)  # noqa: TRY400  # The message says all.
            answer = None
        if answer is None:
            self._forget(context.peer())
            return pb.Envelope(header=pb.Header(status=ENDS)).SerializeToString()
        loop, idle_s = asyncio.get_running_loop(), self._bridge.settings.idle_s
        self._timers[context.peer()] = loop.call_later(idle_s, self._silent, context.peer())
        return pb.Envelope(header=pb.Header(status=GOES_ON), to_game=answer).SerializeToString()

    def _silent(self, peer: str) -> None:
        log.error("a game is closed: it said nothing for %g s", self._bridge.settings.idle_s)
        self._timers.pop(peer, None)
        self._forget(peer)

    def _forget(self, peer: str) -> None:
        """Lets a game go; its sessions end beside the others."""
        game = self._games.pop(peer, None)
        self.told_to_end.set()
        if game is not None and not self._bridge.over.is_set():
            task = asyncio.get_running_loop().create_task(game.leave())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    async def close(self) -> None:
        """Forgets the time-outs, and waits for the ends of sessions that are on their way."""
        for timer in self._timers.values():
            timer.cancel()
        if self._closing:
            await asyncio.wait(self._closing, timeout=CLOSING_S)

    async def _answer(self, message: pb.Envelope, peer: str) -> pb.ToGame | None:
        if peer not in self._games:
            if not message.from_game.HasField("introduction"):
                raise BridgeError("a game said nothing of itself; its first message is its introduction")
            self._games[peer] = await self._welcome(message.from_game.introduction)
            self.told_to_end.clear()
            return self._games[peer].welcome()
        if self._bridge.over.is_set() or message.header.status != GOES_ON:
            return None
        return await self._games[peer].answer(message.from_game)

    async def _welcome(self, introduction: pb.Introduction) -> "_Game":
        version = introduction.communication_version
        if version.partition(".")[0] != MAJOR_VERSION:
            raise BridgeError(f"the game's communicator has the version {version!r}; allowed is {MAJOR_VERSION}.…")
        game = _Game(self._bridge, introduction)
        await game.left.enter_async_context(game.playing())
        self._leaving.push_async_callback(game.leave)
        return game


class _Game:
    """One game; its messages come one after another."""

    def __init__(self, bridge: Bridge, introduction: pb.Introduction) -> None:
        self._bridge, self._version = bridge, introduction.communication_version
        self._behaviors = {one.name: read_behavior(one) for one in introduction.behaviors}
        self._players: Players[Any] | None = None
        self._begun = False
        self.left = AsyncExitStack()
        """What ends when the game leaves."""

    async def leave(self) -> None:
        """Ends the sessions of its agents; once is enough."""
        await self.left.aclose()

    @contextlib.asynccontextmanager
    async def playing(self) -> Any:
        """Opens the players, and ends their games with the block."""
        async with self._bridge.players(lambda who: _behavior_name(who[0])) as self._players:
            yield self

    def welcome(self) -> pb.ToGame:
        """Returns the answer to the introduction."""
        can = pb.Capabilities(base=True, joined_pngs=True, channel_mapping=True, hybrid_actions=True)
        return pb.ToGame(welcome=pb.Welcome(communication_version=self._version, capabilities=can, areas=1))

    async def answer(self, said: pb.FromGame) -> pb.ToGame | None:
        """Returns what the game is to do next; None where the bridge is over.

        Raises:
          SparringError: The game or the service says what the other cannot take.
        """
        if not self._begun:  # It asks what to do first.
            self._begun = True
            return pb.ToGame(orders=pb.Orders(command=pb.COMMAND_RESET))
        for one in said.introduction.behaviors:
            self._behaviors[one.name] = read_behavior(one)
        players = self._players
        if players is None or sum(len(group.agents) for group in said.frame.agents.values()) > AGENTS_MAX:
            raise BridgeError(f"a frame has more than {AGENTS_MAX} agents")
        numbers = sum(picture_numbers(agent) for group in said.frame.agents.values() for agent in group.agents)
        if numbers > PICTURE_NUMBERS_MAX:
            raise BridgeError(f"the pictures of a frame have {numbers} numbers; allowed are {PICTURE_NUMBERS_MAX}")
        for name, group in said.frame.agents.items():
            behavior = self._behavior(name)
            for agent in group.agents:
                self._look(players, name, behavior, agent)
        played = await self._bridge.play(players)
        return None if self._bridge.over.is_set() else self._orders(said.frame, played)

    def _look(self, players: Players[Any], name: str, behavior: Behavior, agent: pb.Agent) -> None:
        named = self._bridge.settings.named
        seen, reward = read_observation(agent, named=named), agent.reward + agent.group_reward
        if agent.done:
            cut = agent.max_step_reached
            players.leave((name, agent.id), seen, reward, terminated=not cut, truncated=cut)
        else:
            players.look((name, agent.id), seen, reward, behavior.mask(agent.action_mask, named=named))

    def _orders(self, frame: pb.Frame, played: dict[Any, Any]) -> pb.ToGame:
        orders = pb.Orders(command=pb.COMMAND_STEP)
        for name, group in frame.agents.items():
            behavior, named = self._behavior(name), self._bridge.settings.named
            actions = [behavior.action(played[name, one.id], named=named) for one in group.agents if not one.done]
            if actions:
                orders.actions[name].actions.extend(actions)
        return pb.ToGame(orders=orders)

    def _behavior(self, name: str) -> Behavior:
        if name not in self._behaviors:
            known = ", ".join(self._behaviors) or "none"
            raise BridgeError(f"agents have the behaviour {name!r}, of which the game told nothing; known are {known}")
        return self._behaviors[name]


def _behavior_name(name: str) -> str:
    """Returns a behaviour's name without its team: ``Striker?team=0`` is ``Striker``."""
    return name.partition("?")[0]
