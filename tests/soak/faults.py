"""Makes the faults of a soak, and tells when what they hit is well again."""

import os
import signal
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil
import ray

from app.stores.names import buffer_host
from tests.ring.fleet import runs
from tests.ring.service import Service
from tests.soak.plan import Kind
from train.session import TrainingSession

WRITE_BYTES: Final = 8 * 2**20
"""Written and synced at a time by what makes the disk slow."""
Claim = Callable[[], bool]


@dataclass(frozen=True)
class Target:
    """What a soak breaks."""

    service: Service
    session: TrainingSession
    home: Path
    hold_s: float
    """How long the disk is slow, and MLflow's store locked."""

    def newest_update_s(self) -> float:
        """Returns when the newest update was done, in Unix seconds; 0 before the first."""
        seen = self.service.trial.metrics.updates_after(0)
        return seen[-1].time_s if seen else 0.0


def break_it(kind: Kind, target: Target) -> Claim:
    """Makes a fault, and returns what tells whether it is over; a fault that lasts has ended when this returns."""
    return _FAULTS[kind](target)


def children(part: str) -> list[psutil.Process]:
    """Returns the processes below this one with some text in their command line, oldest first."""
    found = [process for process in psutil.Process().children(recursive=True) if part in _words(process)]
    return sorted(found, key=_age)


def _replica(target: Target) -> Claim:
    named = f"{target.service.trial_name}:actor-main"
    killed = _kill(children(named)[0])
    return lambda: (
        len({process.pid for process in children(named)} - {killed}) >= 2 and runs(target.service.trial_name, 2)
    )


def _rank(target: Target) -> Claim:
    workers = children("ray::RayTrainWorker")
    if not workers:
        raise RuntimeError("there is no learner to kill")
    _kill(workers[-1])
    began_s = time.time()
    return lambda: target.newest_update_s() > began_s


def _shard(target: Target) -> Claim:
    namespace = target.service.trial.namespace
    ray.kill(ray.get_actor(buffer_host("rollouts", 1), namespace=namespace), no_restart=False)
    buffer = target.service.trial.buffer("rollouts")
    return lambda: buffer.stats().shards[1].supply.inserted > 0


def _stores(target: Target) -> Claim:
    target.service.restart_stores()
    began_s, names = time.time(), iter(range(10_000))

    def well() -> bool:
        session = f"probe-{began_s}-{next(names)}-agent-checked"
        start = target.service.step(session, "start", seq=0)
        target.service.step(session, "stop", seq=1)
        return start.status_code == 200 and target.newest_update_s() > began_s

    return well


def _mlflow(target: Target) -> Claim:
    database = target.home / "mlflow.db"
    with closing(sqlite3.connect(database, timeout=60)) as connection:
        connection.execute("BEGIN IMMEDIATE")  # Nobody else may write; MLflow gives up after a while.
        threading.Event().wait(target.hold_s)
        before = _logged(database)
        connection.rollback()
    return lambda: _logged(database) > before


def _disk(target: Target) -> Claim:
    with _slow_disk(target.home):
        threading.Event().wait(target.hold_s)
    began_s = time.time()
    return lambda: target.newest_update_s() > began_s


@contextmanager
def _slow_disk(folder: Path) -> Iterator[None]:
    """Keeps the disk of a folder busy with writes that wait for it."""
    stop = threading.Event()

    def write() -> None:
        data = os.urandom(WRITE_BYTES)
        while not stop.is_set():
            with (folder / ".soak").open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())

    thread = threading.Thread(target=write, name="slow disk", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(60)
        (folder / ".soak").unlink(missing_ok=True)


def _logged(database: Path) -> int:
    with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True, timeout=10)) as connection:
        return int(connection.execute("SELECT count(*) FROM metrics").fetchone()[0])


def _kill(process: psutil.Process) -> int:
    os.kill(process.pid, signal.SIGKILL)
    return process.pid


def _words(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def _age(process: psutil.Process) -> float:
    try:
        return process.create_time()
    except psutil.Error:
        return 0.0


_FAULTS: Final[dict[Kind, Callable[[Target], Claim]]] = {
    "replica": _replica,
    "rank": _rank,
    "shard": _shard,
    "stores": _stores,
    "mlflow": _mlflow,
    "disk": _disk,
}
