"""``sparring bench ticks``: what a tick costs, over each transport, next to bare servers measured in between."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from train.bench.cells import BATCH_STEPS, Cell, cells, told, told_with_limit
from train.bench.compiling import load_generator
from train.bench.forwarded import forwarded
from train.bench.generator import Load, Mode, Run, Window, run_load
from train.bench.limit import Bare, bare_server
from train.bench.machine import on_this_machine
from train.bench.memory import memory
from train.bench.service import RECORD, GamePort, Target, policy_load, serving
from train.bench.turns import in_turns
from train.launch.stopping import Stopper

CARTPOLE_LOADS: Final = ((Mode.HTTP, 8, 1), (Mode.HTTP, 32, 1), (Mode.STEPS, 1, BATCH_STEPS))
"""Mode, connections, and sessions on each."""
RECORDED_SHARE_MIN: Final = 0.97
"""Aim: the least throughput with the recorder, as a share of that without."""
RECORDED_SESSIONS: Final = 25
"""On each connection, so that of all of them about two are recorded."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is measured."""

    modes: Sequence[Mode] = tuple(Mode)
    connections: Sequence[int] = (1, 8, 32)
    body_bytes: Sequence[int] = (64, 4096)
    windows: int = 5
    seconds: float = 1.0
    """Length of a window."""
    cells: bool = True
    """Whether the transports are measured."""
    cartpole: bool = True
    """Whether CartPole's policy is measured as well."""
    forwarded: bool = True
    """Whether steps are measured that reach another replica than their game's."""
    recorded: bool = True
    """Whether CartPole is measured with a recorder and without."""
    memory: bool = True
    """Whether the memory of idle sessions and the growth over many ticks are measured."""

    @property
    def targets(self) -> list[Target]:
        """Returns the actors that must be served."""
        needed: dict[Target, bool] = {
            "echo": self.cells or self.memory,
            "cartpole": self.cartpole,
            "pair": self.forwarded,
            "recorded": self.recorded,
        }
        return [target for target, wanted in needed.items() if wanted]


class Ticks:
    """One run of the benchmark."""

    def __init__(self, plan: Plan, stopper: Stopper, run: Run, say: Callable[[str], None]) -> None:
        self._plan = plan
        self._stopper = stopper
        self._load = run
        self._say = say
        self._runs = 0

    def measure(self) -> dict[str, object]:
        """Returns what everything in the plan came to.

        Raises:
          SparringError: The service cannot be started, or the load generator fails.
        """
        plan, result = self._plan, dict[str, object]()
        self._say("starting the service")
        with serving(plan.targets, self._stopper) as ports:
            if plan.memory:  # First: what other measurements leave behind is not to count.
                self._say("memory")
                result["memory"] = memory(self._run, ports["echo"])
            if plan.cells:
                result["cells"] = self._cells(ports["echo"])
            if plan.cartpole:
                result["cartpole"] = [self._cartpole(ports["cartpole"], *load) for load in CARTPOLE_LOADS]
            if plan.forwarded:
                self._say("forwarded steps")
                result["forwarded"] = forwarded(self._run, ports["pair"], plan.windows, plan.seconds)
            if plan.recorded:
                self._say("recorded games")
                result["recorded"] = self._recorded(ports["recorded"])
        return result

    def _cells(self, port: GamePort) -> list[dict[str, object]]:
        plan = self._plan
        wanted = cells(plan.modes, plan.connections, plan.body_bytes)
        with ExitStack() as stack:
            bare = {kind: stack.enter_context(bare_server(kind)) for kind in sorted({cell.limit for cell in wanted})}
            return [self._cell(cell, port, bare[cell.limit]) for cell in wanted]

    def _cell(self, cell: Cell, port: GamePort, bare: Bare) -> dict[str, object]:
        self._say(f"{cell.mode}, {cell.connections} connections, {cell.body_bytes} bytes")
        windows, limits = [], []
        load = replace(cell.load(port.port, self._plan.seconds), pids=port.pids)
        limit = replace(cell.limit_load(bare.port, self._plan.seconds), pids=(bare.pid,))
        for _ in range(self._plan.windows):
            windows.append(self._run(self._named(load)))
            limits.append(self._run(self._named(limit)))
        return told_with_limit(cell, windows, limits)

    def _cartpole(self, port: GamePort, mode: Mode, connections: int, sessions: int) -> dict[str, object]:
        self._say(f"CartPole's policy, {mode}, {connections} connections")
        load = policy_load(port, self._plan.seconds, mode, connections, sessions)
        windows = [self._run(self._named(load)) for _ in range(self._plan.windows)]
        return {"transport": mode, "connections": connections, "sessions": sessions * connections, **told(windows)}

    def _recorded(self, port: GamePort) -> dict[str, object]:
        load = policy_load(port, self._plan.seconds, sessions=RECORDED_SESSIONS)
        windows = self._plan.windows
        return in_turns(lambda one: self._run(self._named(one)), load, list(RECORD), windows, RECORDED_SHARE_MIN)

    def _run(self, load: Load) -> Window:
        self._stopper.check()
        return self._load(load)

    def _named(self, load: Load) -> Load:
        """Returns the load with session ids of its own."""
        self._runs += 1
        return replace(load, prefix=f"load-{self._runs}")


def ticks(plan: Plan, stopper: Stopper, say: Callable[[str], None]) -> dict[str, object]:
    """Returns what a tick costs.

    Args:
      plan: What is measured.
      stopper: Knows whether the user has asked to stop.
      say: Told what is measured next.

    Raises:
      SparringError: A part cannot be measured; the message is that part's own.
      InterruptedLaunchError: The user has asked to stop.
    """

    def measure() -> dict[str, object]:
        result = Ticks(plan, stopper, partial(run_load, load_generator()), say).measure()
        return {"windows": plan.windows, "window_s": plan.seconds, "errors": errors_in(result), **result}

    return on_this_machine("ticks", measure)


def errors_in(result: object) -> int:
    """Returns the sum of all errors in a result; a part that counts them itself is not looked into further."""
    if isinstance(result, dict):
        if isinstance(result.get("errors"), int):
            return int(result["errors"]) + int(result.get("limit_errors", 0))
        return sum(errors_in(part) for part in result.values())
    return sum(errors_in(part) for part in result) if isinstance(result, list) else 0
