"""Values that the agents of one game share within a frame of it, and wait for."""

import asyncio
from typing import Final, Protocol

from app.errors import AgentError
from app.types import SessionId

WAITERS_MAX: Final = 1_000
"""Waits of one frame at a time: far more than a game has agents."""


class _Missing:
    """Stands for a value that nobody has put."""


_MISSING: Final = _Missing()


class Frame:
    """Values of one frame of a game: from one tick of an agent to its next, whichever agent begins.

    A frame ends when an agent that has ticked in it ticks again, or when an agent that was born in it ticks for the
    first time while nobody else does: whoever was born between two frames takes part in the second. So agents that
    join late, leave early or come back are in the frame that the others are in.
    """

    __slots__ = ("_values", "_waiters", "running", "ticked")

    def __init__(self) -> None:
        self.ticked: set[SessionId] = set()
        """Sessions that have ticked in this frame."""
        self.running = 0
        """Ticks of this frame that are under way."""
        self._values: dict[str, object] = {}
        self._waiters: dict[str, list[asyncio.Future[object]]] | None = None

    def put(self, name: str, value: object) -> None:
        """Sets a value and wakes who waits for it."""
        self._values[name] = value
        if self._waiters is not None:
            for waiter in self._waiters.pop(name, ()):
                if not waiter.done():
                    waiter.set_result(value)

    def get(self, name: str, default: object = None) -> object:
        """Returns a value; the default where nobody has put it."""
        return self._values.get(name, default)

    def names(self) -> list[str]:
        """Returns the names that have a value."""
        return sorted(self._values)

    async def wait(self, name: str, timeout_s: float) -> object:
        """Returns a value as soon as it is there.

        Raises:
          TimeoutError: Nobody has put it in time, or too many wait already.
        """
        value = self._values.get(name, _MISSING)
        if value is not _MISSING:
            return value
        if self._waiters is None:
            self._waiters = {}
        waiters = self._waiters.setdefault(name, [])
        if len(waiters) >= WAITERS_MAX:
            raise TimeoutError
        waiter: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        waiters.append(waiter)
        try:
            async with asyncio.timeout(timeout_s):
                return await waiter
        finally:
            if waiter in (left := self._waiters.get(name, [])):
                left.remove(waiter)


class Frames(Protocol):
    """What a board needs of its game."""

    id: str
    frame: Frame

    def agents(self) -> list[SessionId]:
        """Returns the sessions of the game."""


class Board:
    """One session's view of its game's blackboard."""

    __slots__ = ("_born", "_frame", "_game", "_session", "_timeout_s")

    def __init__(self, game: Frames, session: SessionId, timeout_s: float) -> None:
        """Makes a view.

        Args:
          game: Whose frames are looked at.
          session: Who looks; named when a wait fails.
          timeout_s: Longest wait for a value.
        """
        self._game = game
        self._session = session
        self._timeout_s = timeout_s
        self._frame = game.frame
        self._born = game.frame if game.frame.ticked else None
        """Frame that others had ticked in when the session was born; None once it has ticked itself."""

    def enter(self) -> None:
        """Begins a tick of this session, and with it a new frame if the present one is over."""
        frame = self._game.frame
        over = frame is self._born and not frame.running
        if over or self._session in frame.ticked:
            frame = self._game.frame = Frame()
        self._born = None
        self._frame = frame
        frame.ticked.add(self._session)
        frame.running += 1

    def leave(self) -> None:
        """Ends the tick that ``enter`` began."""
        self._frame.running -= 1

    def put(self, name: str, value: object) -> None:
        """Shares a value with the other agents of the game for the present frame."""
        self._frame.put(name, value)

    def get(self, name: str, default: object = None) -> object:
        """Returns a value of the present frame; the default where nobody has put it yet."""
        return self._frame.get(name, default)

    async def wait(self, name: str) -> object:
        """Returns a value of the present frame, as soon as another agent has put it.

        Raises:
          AgentError: Nobody has in time; the message says who waits for what, and who is there.
        """
        try:
            return await self._frame.wait(name, self._timeout_s)
        except TimeoutError as error:
            others = [other for other in self._game.agents() if other != self._session]
            ticked = [other for other in others if other in self._frame.ticked]
            raise AgentError(
                f"session {self._session!r} waited {self._timeout_s:g} s for {name!r}, which no agent of game "
                f"{self._game.id!r} has put in this frame; put are {', '.join(self._frame.names()) or 'none'}; other "
                f"sessions are {', '.join(others) or 'none'}, of which {', '.join(ticked) or 'none'} have ticked in it"
            ) from error
