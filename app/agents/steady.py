"""Keeps the weights of a session steady: for a whole game, or for a number of ticks."""

from collections import Counter
from collections.abc import Awaitable
from typing import Any, Final

from app.agents.agent import version_of_text, version_text
from app.errors import ModelMismatchError, SnapshotError
from app.models.around import ModelAround
from app.models.model import Model, Output
from app.models.question import Decision, Question
from app.sessions.session import EndCause, SessionAgent
from app.types import Version
from app.wire.payload import Codec, Payload
from app.wire.trees import Tree

CHANGED_EARLY: Final = "weights_changed_early"
"""Counts games that came from another replica, and whose weights nobody keeps any more: the newest play on."""


class GameWeights:
    """The version that each running game began with, so that sessions of one game that begin later share it."""

    def __init__(self) -> None:
        self._versions: dict[str, Version] = {}
        self._sessions: Counter[str] = Counter()

    def of(self, game: str) -> Version | None:
        """Returns the version that a game is played with; None where none of its sessions has begun."""
        return self._versions.get(game)

    def join(self, game: str, version: Version) -> None:
        """Notes that one more session of a game is played with a version."""
        self._versions.setdefault(game, version)
        self._sessions[game] += 1

    def leave(self, game: str) -> None:
        """Notes that a session of a game is over; the game is forgotten with its last one."""
        self._sessions[game] -= 1
        if self._sessions[game] <= 0:
            del self._sessions[game], self._versions[game]


class SteadyModel(ModelAround):
    """A model as one session sees it: what asks for no version is answered by the one that the session holds."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.version: Version | None = None
        """Held version; None before the first, and in a step without a session: the newest."""

    def decide(self, question: Question) -> Awaitable[Decision]:
        """Returns the decision to come; see ``Model``."""
        if question.version is None:
            question.version = self.version
        return self._model.decide(question)

    async def forward(self, observation: Any, state: Any = None, version: Version | None = None) -> Output:
        """Returns what the network answers; see ``Model``."""
        return await super().forward(observation, state, self.version if version is None else version)

    async def ensure(self, version: Version | None) -> Version:
        """Makes a version answerable until it is released, and returns it; None means the session's own."""
        return await super().ensure(self.version if version is None else version)

    async def hold(self, version: Version | None) -> Version:
        """Holds a version, None the newest, in place of the one that was held, and returns it."""
        before, self.version = self.version, await self._model.ensure(version)
        if before is not None:
            self._model.release(before)
        return self.version

    def let_go(self) -> None:
        """Holds nothing any more."""
        if self.version is not None:
            self._model.release(self.version)
            self.version = None


class SteadyAgent:
    """An agent whose model changes its weights at certain ticks alone."""

    def __init__(
        self,
        agent: SessionAgent,
        model: SteadyModel,
        every_ticks: int | None,
        game: str,
        games: GameWeights,
        counts: Counter[str],
        frozen: Version | None = None,
    ) -> None:
        """Wraps an agent.

        Args:
          agent: Who plays; it asks ``model``.
          model: Its view of the model.
          every_ticks: Ticks after which newer weights are taken; None: never, the game is played to its end.
          game: The session's game.
          games: Versions of the running games of this replica.
          counts: Where games are counted that could not keep their weights.
          frozen: Version that plays all of the game, whatever the trainer publishes; None: one of the trainer's.
        """
        self._frozen = frozen
        self._agent = agent
        self._model = model
        self._every_ticks = every_ticks
        self._game = game
        self._games = games
        self._counts = counts
        self._begun = self._joined = False
        self._ticks = 0

    def payloads(self) -> Codec:
        """Returns the agent's."""
        return self._agent.payloads()

    @property
    def version(self) -> Version | None:
        """Returns the weights behind the last answer."""
        return self._agent.version

    async def on_start(self, options: Payload) -> Payload:
        """Begins the episode with its frozen weights, with those of its game, or with the newest."""
        await self._take(self._first())
        try:
            return await self._agent.on_start(options)
        except BaseException:
            self._let_go()
            raise

    async def on_tick(self, payload: Payload) -> Payload:
        """Returns the agent's answer; takes newer weights before it where it is time."""
        if self._begun and self._every_ticks is not None and self._ticks and self._ticks % self._every_ticks == 0:
            await self._model.hold(None)
        answer = await self._agent.on_tick(payload)
        self._ticks += 1
        return answer

    def on_deadline(self, payload: Payload) -> Payload:
        """Returns the agent's answer to a tick whose time is up."""
        return self._agent.on_deadline(payload)

    async def on_episode(self, payload: Payload, cause: EndCause) -> Payload:
        """Ends the episode and lets its weights go; a stop that is refused may be repeated, so that they stay."""
        try:
            answer = await self._agent.on_episode(payload, cause)
        except BaseException:
            if cause is not EndCause.STOP:
                self._let_go()
            raise
        self._let_go()
        return answer

    def on_resume(self, missed: int | None) -> None:
        """Tells the agent that ticks are missing."""
        self._agent.on_resume(missed)

    def state_dict(self) -> Tree:
        """Returns the agent's state, and which weights it plays with since when."""
        return {"agent": self._agent.state_dict(), "held": version_text(self._model.version), "ticks": self._ticks}

    async def load_state_dict(self, state: Tree) -> None:
        """Takes over an episode; where its weights are no longer kept the newest play on, which is counted.

        Raises:
          SnapshotError: It is no state of such an agent, or its frozen weights are gone: no other may play in their
            place.
        """
        if not isinstance(state, dict) or not isinstance(state.get("ticks"), int):
            raise SnapshotError("the state of an agent with steady weights has agent, held and ticks")
        held = state["held"]
        if held is not None:
            await self._take_again(version_of_text(str(held)))
        await self._agent.load_state_dict(state["agent"])
        self._ticks = int(str(state["ticks"]))

    async def _take_again(self, version: Version | None) -> None:
        try:
            await self._take(version)
        except ModelMismatchError as error:
            if self._frozen is not None:
                raise SnapshotError(f"the frozen weights {version} are not there: {error}") from error
            self._counts[CHANGED_EARLY] += 1
            await self._take(self._first())

    def _first(self) -> Version | None:
        """Returns the version that a session begins with; None: the newest."""
        if self._frozen is not None:
            return self._frozen
        return self._games.of(self._game) if self._every_ticks is None else None

    async def _take(self, version: Version | None) -> None:
        held = await self._model.hold(version)
        self._begun = True
        if self._every_ticks is None and self._frozen is None and not self._joined:
            self._joined = True
            self._games.join(self._game, held)

    def _let_go(self) -> None:
        self._model.let_go()
        self._begun = False
        if self._joined:
            self._joined = False
            self._games.leave(self._game)
