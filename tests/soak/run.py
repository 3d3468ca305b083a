"""Runs a soak: a service that trains, games that check each answer, faults, and what becomes of them."""

import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ray.exceptions import RayError

from app.config.active import active
from app.errors import SparringError, TrainingError
from tests.ring.instance import ray_instance
from tests.ring.service import Service, config_of, playing
from tests.soak.faults import Target, break_it
from tests.soak.games import Load, load
from tests.soak.limits import GAMES_S, HOLD_S, READY_S, SNAPSHOT_EVERY, WELL_S
from tests.soak.plan import Fault, plan
from tests.soak.report import Recovery, Report
from tests.soak.state import State, read_state
from tests.soak.watching import Watch
from train.session import TrainingSession

HERE: Final = Path(__file__).parent
SETTINGS: Final = (
    "actors.main.replicas=2",
    f"actors.main.snapshot_every_ticks={SNAPSHOT_EVERY}",
    "actors.main.agents=[player,checked]",
    "agents.checked.factory=soak_agent:SoakAgent",
    "buffers.rollouts.shards=2",
    "trainers.main.workers=2",
    "trainers.main.checkpoints.every_s=5",
    "trainers.main.max_restarts=100000",
)
LOOK_S: Final = 0.1
END_S: Final = 180.0
"""Longest wait for the last checkpoint."""


@dataclass(frozen=True)
class Soak:
    """What is asked for."""

    folder: Path
    seed: int
    seconds: float
    resume: bool = False
    games: int = 16
    pause_s: float = 0.05


def run(soak: Soak) -> Report:
    """Runs a soak, or what is left of it, and returns its report, which is in the folder as well.

    Raises:
      ValueError: There is nothing to resume, or it is of another kind.
    """
    whole = read_state(soak.folder, soak.seed, soak.seconds) if soak.resume else State(soak.seed, soak.seconds)
    whole.starts += 1
    home = soak.folder / "home"
    report = Report(soak.seed, whole.done_s, whole.starts, whole.faults, whole.ledger)
    with ray_instance(HERE.parent / "ring", HERE / "agents", home=home) as cluster:
        _tell("starting the service")
        with Service(cluster, "soak", *SETTINGS) as service, _training(service, whole, restore=soak.resume) as session:
            target = Target(service, session, service.home, min(HOLD_S, soak.seconds / 25))
            watch = Watch(target, whole.ledger, rows=whole.rows, looks=whole.looks)
            with playing(service.url, games=8):
                if _wait(lambda: target.newest_update_s() > 0, READY_S) is None:
                    raise TrainingError(f"no update was done within {READY_S:g} s of the start")
                report = _under_load(soak, whole, target, watch)
    report.write(soak.folder)
    return report


def _under_load(soak: Soak, whole: State, target: Target, watch: Watch) -> Report:
    games = Load(target.service.url, whole.ledger, soak.seed, soak.games, SNAPSHOT_EVERY, soak.pause_s)
    begun_s, before_s = time.monotonic(), whole.done_s
    watch.start()

    def passed() -> float:
        return before_s + time.monotonic() - begun_s

    def keep() -> None:
        whole.done_s, whole.looks = min(passed(), whole.seconds), watch.looks
        whole.write(soak.folder)

    with load(games, f"soak{whole.starts}"):
        for fault in plan(soak.seed, soak.seconds)[len(whole.faults) :]:
            while passed() < fault.at_s:
                threading.Event().wait(min(5.0, max(LOOK_S, fault.at_s - passed())))
                keep()
            whole.faults.append(_made(fault, passed(), target, games))
            keep()
            target.session.join(0)  # Where training has ended, the soak does, with its message.
        while passed() < soak.seconds:
            threading.Event().wait(min(5.0, max(LOOK_S, soak.seconds - passed())))
            keep()
        memory = watch.slopes()
    watch.close()
    keep()
    updates = target.service.trial.metrics.updates_after(0)
    training = (
        {"updates": float(updates[-1].number), "seconds_since": time.time() - updates[-1].time_s} if updates else {}
    )
    return Report(
        soak.seed, whole.done_s, whole.starts, whole.faults, whole.ledger, whole.rows, memory, training, watch.looks
    )


def _made(fault: Fault, at_s: float, target: Target, games: Load) -> Recovery:
    _tell(f"{at_s:6.0f} s  {fault.kind}")
    begun_s = time.monotonic()
    try:
        is_well = break_it(fault.kind, target)
    except (RuntimeError, OSError, sqlite3.Error, RayError, SparringError) as error:
        games.ledger.fail("not_made", f"{fault.kind} at {at_s:.0f} s: {type(error).__name__}: {error}")
        return Recovery(round(at_s, 1), fault.kind, None, None)
    broken_s = time.monotonic()
    games_s = _wait(lambda: games.all_answered_since(broken_s), GAMES_S)
    well_s = _wait(is_well, max(0.0, WELL_S - (time.monotonic() - begun_s)))
    ended_s = None if well_s is None else round(time.monotonic() - broken_s, 1)
    _tell(f"        games {games_s}, well {ended_s}")
    return Recovery(round(at_s, 1), fault.kind, games_s, ended_s)


@contextmanager
def _training(service: Service, whole: State, *, restore: bool) -> Iterator[TrainingSession]:
    """Trains while the block runs; how it ends is noted where that is not as it should."""
    config = active(config_of(service.trial_name, *SETTINGS))
    session = TrainingSession(config, service.trial, service.home, restore="latest" if restore else None)
    session.start()
    succeeded = False
    try:
        yield session
        session.stop()
        succeeded = session.join(END_S)
        if not succeeded:
            whole.ledger.fail("training", f"it has not ended within {END_S:g} s")
    except TrainingError as error:
        whole.ledger.fail("training", str(error))
    finally:
        session.stop()
        session.close(succeeded=succeeded)


def _wait(claim: Callable[[], bool], timeout_s: float) -> float | None:
    """Returns after how many seconds a claim was true; None where it was not in time. What is away is not well."""
    begun_s = time.monotonic()
    while True:
        try:
            if claim():
                return round(time.monotonic() - begun_s, 1)
        except (RayError, SparringError, OSError, sqlite3.Error, KeyError):
            pass
        except Exception as error:  # httpx has no common base with OSError.
            if not type(error).__module__.startswith("httpx"):
                raise
        if time.monotonic() - begun_s > timeout_s:
            return None
        threading.Event().wait(LOOK_S)


def _tell(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
