"""What one replica knows of games, here and elsewhere: wiring, no logic."""

from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any

from app.errors import BadRequestError, GameElsewhereError
from app.sessions.directory import Replica
from app.sessions.ids import game_of
from app.sessions.limits import Limits
from app.sessions.roles import MakeAgent
from app.sessions.table import SessionTable
from app.sessions.times import TimesOf
from app.stores.trial import Trial
from app.types import Purpose, SessionId, StepKind
from app.wire.http import HttpReply, HttpRequest
from app.wire.steps import StepReply, StepRequest
from deployments.batched import Batched
from deployments.forward import Forwarding
from deployments.handover import HandOver
from deployments.keys import DoorKeeper
from deployments.links import SECRET_HEADER, Links
from deployments.members import Members
from deployments.recovery import Recovery
from deployments.saver import Saver
from deployments.secret import same_secret
from deployments.steps import Step, StepService

if TYPE_CHECKING:
    from app.stores.directory import Found


class GamePlane:
    """The games of a replica, and its part in those of the others."""

    def __init__(
        self,
        trial: Trial,
        own: Replica,
        port: int,
        secret: str,
        limits: Limits,
        purpose: Purpose,
        keeper: DoorKeeper,
        make_agent: MakeAgent,
        mint: Callable[[], SessionId],
        clock: Callable[[], float],
        counts: Counter[str],
        times: TimesOf | None = None,
    ) -> None:
        """Makes the plane of one replica, which joins the others with ``join``.

        Args:
          trial: Reaches the stores.
          own: This replica.
          port: Its game port; 0 where it has none.
          secret: What the replicas of this service alone know.
          limits: Bounds of the games here.
          purpose: Purpose of a start that names none.
          keeper: Decides who may play.
          make_agent: Builds the agent of a session.
          mint: Returns an id that nobody has.
          clock: Returns seconds that never go back.
          counts: Where everything is counted.
          times: Returns what takes how long the ticks of a session wait and last; None measures nothing.
        """
        self._secret = secret
        self._counts = counts
        snapshots = None if limits.snapshot_every_ticks is None else trial.snapshots
        self.saver = None if snapshots is None else Saver(snapshots, counts)
        self._keeper = keeper if keeper.doors.guarded else None
        self.table = SessionTable(
            make_agent, limits, purpose, mint, clock, counts, self._claim, self.saver, self._keeper, times
        )
        self._answer: Step = self.table.step
        self.links = Links(secret)
        self.members = Members(trial.directory, own, port, self.table)
        self.members.rejoined = self._save_again
        self._claiming: Batched[str, tuple[Found, bool]] = Batched(lambda games: trial.directory.claim(games, own.name))
        self._recovery = Recovery(self.table, self.members, snapshots, counts)
        self._hand_over = HandOver(self.table, self.members, self.links, counts)
        self._forwarding = Forwarding(self.table, self.step_here, self.members, self.links, self._recovery)

    def watch(self, watched: Callable[[Step], Step]) -> None:
        """Has steps of games that are held here answered through another function.

        Args:
          watched: Makes that function of the one that answers now.
        """
        self._answer = watched(self._answer)

    async def step(self, request: StepRequest) -> StepReply:
        """Returns the answer to a step from outside, wherever its game is held.

        Raises:
          StepError: It is not admitted, or cannot be answered.
        """
        if self._keeper is not None:
            self._keeper.admit(request)
        return await self.admitted(request)

    async def admitted(self, request: StepRequest) -> StepReply:
        """Returns the answer to a step that is admitted already, wherever its game is held."""
        return await self._forwarding.step(request)

    async def step_here(self, request: StepRequest) -> StepReply:
        """Returns the answer to an admitted step of a game that is held here; a start is told where that is.

        Raises:
          GameElsewhereError: The game is held by another replica.
          StepError: The step cannot be answered.
        """
        if self.members.lapsed():
            await self._hold_again(request)
        reply = await self._answer(request)
        return reply._replace(endpoint=self.members.own.endpoint) if request.kind is StepKind.START else reply

    async def answer_peer(self, service: StepService, request: HttpRequest) -> HttpReply:
        """Returns the reply to another replica's request that is no step.

        Raises:
          StepError: The request cannot be answered.
        """
        if not same_secret(request.fields.get(SECRET_HEADER, ""), self._secret):
            raise BadRequestError("the peer port serves the replicas of this service alone")
        if request.path == "/adopt":
            return await self._hand_over.take(request.body)
        return await service.answer_peer(request)

    def step_of_peer(self, request: StepRequest, via_gateway: bool) -> Awaitable[StepReply]:
        """Returns the answer that will come to a step of another replica, which has admitted it; gateways only guess.

        It raises a ``GameElsewhereError`` where the game is held by another replica, unless a gateway asks.
        """
        self._counts["from_peers"] += 1
        return self.admitted(request) if via_gateway else self.step_here(request)

    async def sweep(self) -> None:
        """Closes idle sessions and lets go what is over."""
        await self.table.sweep()
        if self.saver is not None and (left := self.table.take_left()):
            await self.saver.end(left)
        if ended := self.table.games.take_ended():
            await self.members.directory.release(ended, self.members.own.name)

    async def drain(self) -> None:
        """Hands on what is played here; what nobody takes is kept as snapshots, or ends as truncated."""
        self.table.draining = True
        await self.members.beat()
        await self._hand_over.give_all()
        if self.saver is not None:
            await self.saver.save_all(list(self.table.sessions.values()))
            for game in self.table.games.all():
                self.table.forget(game)
        await self.table.end_all()

    async def leave(self) -> None:
        """Leaves the other replicas."""
        await self.links.close()
        await self.members.leave()

    def work(self) -> list[Coroutine[Any, Any, None]]:
        """Returns what must run for as long as the replica lives."""
        return [self.members.run()]

    async def _claim(self, game: str) -> int:
        """Returns the epoch of this replica's claim of a game.

        Raises:
          GameElsewhereError: Another replica holds it.
          OverloadedError: The directory does not answer.
        """
        found, lost = await self._claiming.ask(game)
        if found.claim is None or found.claim.owner != self.members.own.name:
            raise GameElsewhereError(game, "" if found.claim is None else found.claim.owner)
        if lost:
            await self._recovery.claimed(game, found.claim.epoch)
        return found.claim.epoch

    async def _hold_again(self, request: StepRequest) -> None:
        """Returns where this replica may answer for its games again.

        Raises:
          GameElsewhereError: Another replica has taken the game meanwhile.
          OverloadedError: This replica is cut off.
        """
        held = request.session in self.table
        await self.members.renew()
        if held and request.session not in self.table:
            raise GameElsewhereError(game_of(request.session), "")

    async def _save_again(self) -> None:
        if self.saver is not None:
            await self.saver.save_all(list(self.table.sessions.values()))
