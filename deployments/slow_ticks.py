"""Finds ticks that take too long, and tells where their time went."""

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from app.agents.timed_agent import PRESENT, TickParts
from app.checks.alarm import Alarm
from app.stacks import running_in, waiting_in
from app.types import StepKind
from app.wire.steps import StepReply, StepRequest
from deployments.steps import Step

SLOW_TICK: Final = "slow_tick"
"""Name of the alarm."""
LOOKS: Final = 8
"""Looks at a late tick until it has taken as long as is allowed, and once more as long again."""
LOOK_MAX_S: Final = 0.05
LOOK_MIN_S: Final = 0.001
"""Bounds of the time between two looks."""
PLACES_SHOWN: Final = 5
"""Places in which a tick was seen most often that are told."""
JOIN_S: Final = 2.0
"""Longest wait for the thread to end."""


@dataclass(slots=True)
class _Running:
    """A tick under way."""

    times: TickParts
    task: "asyncio.Task[object] | None"
    seen: Counter[str] = field(default_factory=Counter)
    """Where it was, look by look."""


class SlowTicks:
    """Times every tick of a replica; a thread looks where those are that take long.

    Of a tick that runs, the place is the function and line that the loop is in; of one that waits, what it waits in,
    and what the loop does meanwhile.
    """

    def __init__(self, limit_ms: float, source: str, tell: Callable[[Alarm], None], counts: Counter[str]) -> None:
        """Watches the running loop's ticks from ``run`` on.

        Args:
          limit_ms: Longest time of a tick that is not told of.
          source: Name of the replica, for alarms.
          tell: Takes alarms.
          counts: The replica's.
        """
        self._limit_s, self._source, self._tell, self._counts = limit_ms / 1000, source, tell, counts
        self._look_s = min(LOOK_MAX_S, max(LOOK_MIN_S, self._limit_s / LOOKS))
        self._running: dict[int, _Running] = {}
        self._loop = asyncio.get_running_loop()
        self._loop_thread = threading.get_ident()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="slow ticks", daemon=True)

    def watched(self, step: Step) -> Step:
        """Returns a function that answers steps as another does, and times ticks."""

        async def answer(request: StepRequest) -> StepReply:
            if request.kind is not StepKind.TICK:
                return await step(request)
            return await self._timed(step, request)

        return answer

    async def run(self) -> None:
        """Looks at ticks for as long as it runs."""
        self._thread.start()
        try:
            await asyncio.Event().wait()
        finally:
            self._stop.set()
            await asyncio.to_thread(self._thread.join, JOIN_S)

    async def _timed(self, step: Step, request: StepRequest) -> StepReply:
        times = TickParts(time.perf_counter())
        running = _Running(times, asyncio.current_task())
        key = id(running)
        self._running[key] = running
        token = PRESENT.set(times)
        reply: StepReply | None = None
        try:
            reply = await step(request)
            return reply
        finally:
            PRESENT.reset(token)
            del self._running[key]
            now_s = time.perf_counter()
            if now_s - times.begun_s > self._limit_s:
                self._report(request, reply, running, now_s)

    def _report(self, request: StepRequest, reply: StepReply | None, running: _Running, now_s: float) -> None:
        self._counts["slow_ticks"] += 1
        parts = running.times.parts_ms(now_s)
        wall_s = time.time()
        self._tell(
            Alarm(
                check=SLOW_TICK,
                kind=SLOW_TICK,
                action="warn",
                model="",
                source=self._source,
                field="milliseconds of a tick",
                value=round(1000 * (now_s - running.times.begun_s), 1),
                allowed=f"at most {1000 * self._limit_s:g}",
                time_s=wall_s,
                first_s=wall_s,
                session=request.session,
                tick=None if reply is None else reply.seq - 1,
                details=(", ".join(f"{name} {part:.1f} ms" for name, part in parts.items()), *places(running.seen)),
            )
        )

    def _watch(self) -> None:
        while not self._stop.wait(self._look_s):
            late_s = time.perf_counter() - self._limit_s / 2
            for running in list(self._running.values()):
                if running.times.begun_s < late_s:
                    running.seen[self._place(running)] += 1

    def _place(self, running: _Running) -> str:
        """Returns where a tick is at this moment; called in the thread."""
        loop_in = running_in(self._loop_thread)
        if running.task is None or asyncio.current_task(self._loop) is running.task:
            return f"runs {loop_in}"
        return f"waits in {waiting_in(running.task)}, the loop is in {loop_in}"


def places(seen: Counter[str]) -> Sequence[str]:
    """Returns where a tick was seen, most often first, with the share of the looks."""
    looks = seen.total()
    return [f"{count / looks:.0%} of {looks} looks: {place}" for place, count in seen.most_common(PLACES_SHOWN)]
