"""A model of which several released versions play at the same time; each session keeps its own."""

import asyncio
import weakref
from collections import Counter, deque
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

from app.models.batching import DEFAULT_LIMITS, BatchLimits, sized
from app.models.engine import Answer, Engine
from app.models.model import Output
from app.models.placement import forwarded
from app.models.question import Decision, Leaves, Question, prepare
from app.models.queue import LocalQueue
from app.releases.plan import Plan
from app.releases.statistics import Cohort
from app.types import SessionId, Version

if TYPE_CHECKING:
    from app.models.spec import ModelSpec

Load = Callable[[Version], Awaitable[Engine]]
"""Brings a version, checked, without keeping the event loop.

It raises a ``ModelMismatchError`` where the version is not kept, and a ``VersionRefusedError`` where it is broken.
"""


RESUMED: Final = 1
"""Tick at which a session goes on whose first ticks were asked elsewhere: any but the first of a game."""


class Watch(Protocol):
    """Sees what was asked and decided, on behalf of a shadow; must return at once."""

    def saw(self, session: SessionId, tick: int, question: Question, decision: Decision) -> None:
        """Takes a decision that is on its way to the session, and how many it has asked for before."""


class ReleasedModel:
    """Engines of the versions that sessions play; sessions ask through the view of ``for_session``.

    A version stays loaded while the plan names it or a session holds it.
    """

    def __init__(self, first: Engine, load: Load, limits: BatchLimits = DEFAULT_LIMITS) -> None:
        """Begins with one version, which the plan names until another is followed.

        Args:
          first: Engine of the version to begin with.
          load: Brings others.
          limits: Bounds of its batches.
        """
        self.spec = first.spec
        self.plan = Plan(first.version)
        self.queue = LocalQueue(first.spec, sized(self._forward, limits), limits)
        self.watch: Watch | None = None
        """Who sees decisions; None where nobody shadows."""
        self._engines = {first.version: first}
        self._load = load
        self._loading: dict[Version, asyncio.Task[Engine]] = {}
        self._holds: Counter[Version] = Counter()
        self._given_back: deque[Version] = deque()
        """Versions let go, also by the garbage collector in any thread; they count with the next look."""

    @property
    def versions(self) -> list[Version]:
        """Returns the versions that are loaded."""
        return sorted(self._engines)

    async def follow(self, plan: Plan) -> None:
        """Loads what a plan names and begins new sessions by it; until then they begin by the one before.

        Raises:
          ModelMismatchError: A version is not kept.
          VersionRefusedError: A version is broken; the plan before stays.
        """
        named = sorted(plan.versions())
        for version in named:  # So that none is forgotten while another is brought.
            self.hold(version)
        try:
            for version in named:
                await self._loaded(version)
            self.plan = plan
        finally:
            self._given_back.extend(named)
        self.forget_unused()

    def for_session(self, session: SessionId) -> "SessionModel":
        """Returns the model as one session sees it: the version that the plan gives to it, for its whole game."""
        return SessionModel(self, session, self.plan)

    def for_nobody(self) -> "SessionModel":
        """Returns a view that holds no version, for who asks for the spec alone."""
        view = self.for_session("")
        view.close()
        return view

    def hold(self, version: Version) -> None:
        """Keeps a loaded version until it is given back as often as it was held."""
        self._holds[version] += 1

    def give_back(self, version: Version) -> None:
        """Takes one hold back; from any thread."""
        self._given_back.append(version)

    async def load(self, version: Version) -> None:
        """Loads a version and holds it.

        Raises:
          ModelMismatchError: It is not kept.
          VersionRefusedError: It is broken.
        """
        self.hold(version)
        try:
            await self._loaded(version)
        except BaseException:
            self.give_back(version)
            raise

    def forget_unused(self) -> None:
        """Lets go the versions that neither the plan names nor a session holds."""
        while self._given_back:
            self._holds[self._given_back.popleft()] -= 1
        self._holds = +self._holds
        for version in self._engines.keys() - self.plan.versions() - self._holds.keys():
            del self._engines[version]

    async def _loaded(self, version: Version) -> None:
        if version in self._engines:
            return
        task = self._loading.get(version)
        if task is None:
            task = self._loading[version] = asyncio.get_running_loop().create_task(self._bring(version))
            task.add_done_callback(lambda _: self._loading.pop(version, None))
        await asyncio.shield(task)

    async def _bring(self, version: Version) -> Engine:
        engine = self._engines[version] = await self._load(version)
        return engine

    def _forward(self, inputs: Leaves, states: Leaves, version: Version | None) -> Answer:
        return self._engines[self.plan.champion if version is None else version].forward(inputs, states, None)


class SessionModel:
    """A released model in the hands of one session; what the session leaves behind goes with the view."""

    def __init__(self, model: ReleasedModel, session: SessionId, plan: Plan) -> None:
        self.spec: ModelSpec = model.spec
        self.version = plan.version_for(session)
        """What answers, unless a question names another."""
        self.challenger = plan.challenger
        """What was tried when the session began."""
        self.overridden = False
        """Whether it has asked for another version."""
        self._model = model
        self._session = session
        self._asked = 0
        self._holds: Counter[Version] = Counter()
        self._hold(self.version)
        self._closing = weakref.finalize(self, _give_all_back, model, self._holds)
        self._closing.atexit = False

    @property
    def cohort(self) -> Cohort | None:
        """Returns for whom the session's deeds count; None where it asks for a version of its own choice."""
        return None if self.overridden else Cohort(self.version, self.challenger)

    def decide(self, question: Question) -> Awaitable[Decision]:
        """Returns the decision to come; see ``Model``."""
        asked = replace(question, version=self.version) if question.version is None else question
        outcome = self._model.queue.decide(prepare(asked, self.spec))
        watch = self._model.watch
        if watch is not None and asked.version == self._model.plan.champion:
            outcome.add_done_callback(partial(self._show, watch, question, self._asked))
        self._asked += 1
        return outcome

    async def forward(self, observation: Any, state: Any = None, version: Version | None = None) -> Output:
        """Returns what the network answers to one observation or to a batch; see ``Model``."""
        version = self.version if version is None else version
        return await forwarded(self._model.queue, self.spec, observation, state, version)

    async def ensure(self, version: Version | None) -> Version:
        """Holds a version until it is released, and returns it; None is the session's own."""
        wanted = self.version if version is None else version
        self.overridden |= wanted != self.version
        await self._model.load(wanted)
        self._holds[wanted] += 1
        return wanted

    def release(self, version: Version) -> None:
        """Lets a version go that ``ensure`` returned."""
        self._holds[version] -= 1
        self._model.give_back(version)

    async def resume(self, version: Version, challenger: Version | None) -> None:
        """Goes on with the version that the session had in another replica.

        Raises:
          ModelMismatchError: It is not kept.
          VersionRefusedError: It is broken.
        """
        if version != self.version:
            await self._model.load(version)
            self._holds[version] += 1
            self.version, before = version, self.version
            self.release(before)
        self.challenger = challenger
        self._asked = RESUMED

    def close(self) -> None:
        """Lets go what the session holds; its last answers are out."""
        self._closing()

    def _hold(self, version: Version) -> None:
        self._model.hold(version)
        self._holds[version] += 1

    def _show(self, watch: Watch, question: Question, tick: int, outcome: "asyncio.Future[Decision]") -> None:
        if not outcome.cancelled() and outcome.exception() is None:
            watch.saw(self._session, tick, question, outcome.result())


def _give_all_back(model: ReleasedModel, holds: Counter[Version]) -> None:
    for version in holds.elements():
        model.give_back(version)
