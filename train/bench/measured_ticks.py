"""Ticks whose times are measured next to ticks whose times are not, in one replica and in turns."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from app.metrics.names import TICK_SECONDS
from train.bench.compiling import load_generator
from train.bench.generator import Load, Mode, Window, run_load
from train.bench.service import TIMED, GamePort, policy_load, serving, status
from train.bench.turns import in_turns
from train.launch.stopping import Stopper

SHARE_MIN: Final = 0.95
"""Aim: the least throughput with metrics, as a share of that without."""
AGENT: Final = {"part": "agent"}
"""Labels of the series that has one value for each timed tick."""


@dataclass(slots=True)
class MeasuredTicks:
    """One run."""

    windows: int
    seconds: float
    stopper: Stopper
    say: Callable[[str], None]
    runs: int = 0
    program: Path = field(default_factory=load_generator)
    """Looked for once, and before a service is started."""

    def measure(self) -> dict[str, object]:
        """Returns what ticks cost with metrics and without: of an echo, where a tick costs least, and of a policy.

        Raises:
          SparringError: The service cannot be started, or the load generator fails.
          InterruptedLaunchError: The user has asked to stop.
        """
        self.say("starting a service")
        with serving(list(TIMED), self.stopper) as ports:
            echo = self._echo_load(ports["timed_echo"])
            policy = policy_load(ports["timed_cartpole"], self.seconds)
            return {
                "echo": in_turns(self._run, echo, TIMED["timed_echo"], self.windows, SHARE_MIN),
                "cartpole": in_turns(self._run, policy, TIMED["timed_cartpole"], self.windows, SHARE_MIN),
                "timed_part": {target: _timed_part(port) for target, port in ports.items()},
            }

    def _echo_load(self, port: GamePort) -> Load:
        return Load(Mode.HTTP, port.port, seconds=self.seconds, pids=port.pids)

    def _run(self, load: Load) -> Window:
        self.stopper.check()
        self.runs += 1
        self.say(f"ticks, {self.runs} of {sum(map(len, TIMED.values())) * self.windows}")
        return run_load(self.program, replace(load, prefix=f"load-{self.runs}"))


def _timed_part(port: GamePort) -> float:
    """Returns the part of all ticks whose times were measured: about a third, or something else was compared."""
    with port.client() as client:
        found = status(client)
    timed = [
        int(one["count"]) for one in found["series"] if one["name"] == TICK_SECONDS.name and one["labels"] == AGENT
    ]
    return round(sum(timed) / max(1, int(found["counts"].get("ticks_play", 0))), 3)
