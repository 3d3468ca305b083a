"""Ticks of a service that measures latencies, and of one that does not, in turns."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from app.config.active import active
from app.config.metrics import MetricsConfig
from app.config.root import ExperimentConfig
from deployments.port import free_port
from train.bench.cells import WINDOWS_MIN, told
from train.bench.compiling import load_generator
from train.bench.generator import Load, Mode, Window, run_load
from train.bench.service import START_TIMEOUT_S, GamePort, Target, replicas_of, service_config
from train.bench.statistics import figure
from train.launch.ring import Ring
from train.launch.stopping import Stopper

SHARE_MIN: Final = 0.95
"""Aim: the least throughput with metrics, as a share of that without."""
CONNECTIONS: Final = 8
"""Game cores at once."""
TARGETS: Final[tuple[Target, ...]] = ("echo", "cartpole")
"""Without a model, where a tick costs least, and with one."""
BODIES: Final[Mapping[Target, tuple[str, str]]] = {
    "echo": ("", ""),
    "cartpole": ('{"observation":[0.01,0.02,0.03,0.04],"reward":1.0}', '{"action":'),
}
"""What a tick sends, and how its answer begins; empty: as many bytes as the generator sends by itself, echoed."""

Which = Literal["on", "off"]
WHICH: Final[tuple[Which, ...]] = ("on", "off")


@dataclass(slots=True)
class MeasuredTicks:
    """One run."""

    windows: int
    seconds: float
    stopper: Stopper
    say: Callable[[str], None]
    runs: int = 0

    def measure(self) -> dict[str, object]:
        """Returns what ticks cost with metrics and without.

        Raises:
          SparringError: The service cannot be started, or the load generator fails.
          InterruptedLaunchError: The user has asked to stop.
        """
        self.say("starting a service with latencies and one without")
        configs = {which: active(config_of(which)) for which in WHICH}
        ring = Ring(configs["on"], free_port(), START_TIMEOUT_S, self.stopper)
        try:
            ring.start_ray()
            ports = {"on": ring.serve(configs["on"]), "off": ring.serve_beside(configs["off"], "off")}
            found = {target: {w: replicas_of(ports[w][target], 1) for w in WHICH} for target in TARGETS}
            return {target: self._target(target, found[target]) for target in TARGETS}
        finally:
            ring.close()

    def _target(self, target: Target, ports: Mapping[Which, GamePort]) -> dict[str, object]:
        found: dict[Which, list[Window]] = {which: [] for which in WHICH}
        for window in range(self.windows):
            self.say(f"ticks of {target}, {window + 1} of {self.windows}")
            for which in WHICH if window % 2 else WHICH[::-1]:
                found[which].append(self._run(target, ports[which]))
        return told_pair(found["on"], found["off"])

    def _run(self, target: Target, port: GamePort) -> Window:
        self.stopper.check()
        self.runs += 1
        body, expect = BODIES[target]
        load = Load(
            Mode.HTTP,
            port.port,
            CONNECTIONS,
            seconds=self.seconds,
            pids=port.pids,
            prefix=f"load-{self.runs}",
            body=body,
            expect=expect,
        )
        return run_load(load_generator(), load)


def told_pair(on: Sequence[Window], off: Sequence[Window]) -> dict[str, object]:
    """Returns what windows with metrics and without say, each beside the one that was measured next to it."""
    result: dict[str, object] = {"on": told(on), "off": told(off)}
    if not all(window.ticks for window in (*on, *off)):
        return result
    rates = figure([one.ticks_per_s / other.ticks_per_s for one, other in zip(on, off, strict=True)])
    cpu = figure([other.cpu_us / one.cpu_us for one, other in zip(on, off, strict=True)])
    enough = len(on) >= WINDOWS_MIN and rates.measured
    return result | {
        "throughput_share": rates.as_dict(),
        "cpu_share": cpu.as_dict(),
        "within": enough and rates.median >= SHARE_MIN,
    }


def config_of(which: Which) -> ExperimentConfig:
    """Returns the config of a service with latencies or without, a trial of its own."""
    config = service_config(TARGETS)
    run = config.run.model_copy(update={"trial": f"ticks-{which}"})
    return config.model_copy(update={"run": run, "metrics": MetricsConfig(latencies=which == "on")})
