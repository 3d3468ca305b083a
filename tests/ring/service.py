"""Runs the product's service on the test's Ray instance, and talks to it."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar, cast

import httpx
import ray
from httpx import codes
from ray import serve
from torch import nn

from app.client.result import SimulationResult
from app.client.simulator import Simulation, play
from app.client.steps import StepItem, steps_to_repeat
from app.config.load import load
from app.config.root import ExperimentConfig
from app.models.module import build_module, hash_of, to_arrays
from app.stores.names import STORES
from app.types import Purpose, Version
from deployments.build import application, prepare

T = TypeVar("T")

RL = Path(__file__).parents[2] / "configs" / "rl.yaml"
SMALL = (
    "trainers.main.inputs.0.batch_rows=256",
    "trainers.main.inputs.0.algorithm.minibatch_rows=128",
    "trainers.main.inputs.0.algorithm.epochs=2",
    "actors.main.push_rows=64",
    "actors.main.unroll_ticks=16",
    "actors.main.port=0",
    "buffers.rollouts.heartbeat_s=0.5",
)
"""The shipped config with batches that fill in a moment."""
AGAIN_S = 30.0
"""For how long a refused step is sent again, as by any game core; a machine that stands still for seconds has some."""


@dataclass(frozen=True)
class Cluster:
    """The test's Ray instance."""

    serve_url: str
    home: Path
    """State root of all projects."""


def config_of(trial: str, *overrides: str) -> ExperimentConfig:
    return load(RL, [*SMALL, f"run.trial={trial}", *overrides])


class Service:
    """A trial's service, from ``with`` to the end of the block."""

    def __init__(self, cluster: Cluster, trial: str, *overrides: str) -> None:
        self.cluster = cluster
        self.config = config_of(trial, *overrides)
        self.overrides = overrides
        self.trial_name = trial

    def __enter__(self) -> Self:
        self.deploy()
        return self

    def deploy(self) -> None:
        prepared = prepare(self.config)
        self.trial = prepared.trial
        serve.run(application(prepared), name=self.trial_name, route_prefix=f"/{self.trial_name}")
        self.port = self.trial.directory.ports().get("main", 0)
        self.url = f"http://127.0.0.1:{self.port}"
        self.serve_url = f"{self.cluster.serve_url}/{self.trial_name}"
        self.http = self.new_client()

    def new_client(self) -> httpx.Client:
        """Returns a client with a connection of its own, which stays with its replica however long it is idle."""
        return httpx.Client(base_url=self.url, timeout=30, limits=httpx.Limits(keepalive_expiry=None))

    def restart_stores(self) -> None:
        """Kills the process of directory, weights, metrics and snapshots; Ray starts it anew."""
        ray.kill(ray.get_actor(STORES, namespace=self.trial.namespace), no_restart=False)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.http.close()
        serve.delete(self.trial_name)
        self.trial.close()

    @property
    def home(self) -> Path:
        return self.cluster.home / self.config.run.project

    def publish(self, seed: int) -> Version:
        """Publishes weights drawn from a seed and waits until the replica plays them."""
        version = self.send(seed)
        wait_until(lambda: self.status()["versions"]["main"] == str(version), f"version {version} is played")
        return version

    def send(self, seed: int) -> Version:
        """Publishes weights drawn from a seed, as a trainer that has just started would."""
        module, weights = self.module(seed), self.trial.weights("main")
        version = Version(weights.begin(hash_of(module)), 0)
        ray.get(weights.publish(version, to_arrays(module)))
        return version

    def module(self, seed: int) -> nn.Module:
        model = self.config.models["main"]
        return build_module(model.factory, model.kwargs, seed)

    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = self.http.get("/status").json()
        return found

    def step(self, session: str = "", kind: str = "", body: Any = None, **fields: Any) -> httpx.Response:
        return step(self.http, session, kind, body, **fields)


def step(
    http: httpx.Client, session: str = "", kind: str = "", body: Any = None, *, again_s: float = AGAIN_S, **fields: Any
) -> httpx.Response:
    """Sends one step, for so long again as it is refused as ``overloaded``; empty fields are left out."""
    headers = {"session": session, "step_kind": kind} | {name: str(value) for name, value in fields.items()}
    headers = {name: value for name, value in headers.items() if value}
    return taken(lambda: http.post("/step", headers=headers, json=body), again_s)


def taken(send: Callable[[], httpx.Response], again_s: float = AGAIN_S) -> httpx.Response:
    """Returns the answer to a request, sent again while it is refused as ``overloaded``: nothing was done with it."""
    end_s = time.monotonic() + again_s
    while (reply := send()).status_code == codes.TOO_MANY_REQUESTS and time.monotonic() < end_s:
        time.sleep(0.05)
    return reply


def steps(http: httpx.Client, items: Sequence[Mapping[str, object]], again_s: float = AGAIN_S) -> list[dict[str, Any]]:
    """Sends many steps in one request; those refused as ``overloaded`` again, as by any game core."""
    answers: list[dict[str, Any]] = [{}] * len(items)
    left, end_s = list(range(len(items))), time.monotonic() + again_s
    while left:
        sent = [items[index] for index in left]
        found = taken(lambda sent=sent: http.post("/steps", json=sent)).json()  # type: ignore[misc]
        for index, answer in zip(left, found, strict=True):
            answers[index] = answer
        again = steps_to_repeat(cast("Sequence[StepItem]", sent), found)
        left = [left[index] for index in again] if time.monotonic() < end_s else []
    return answers


def observation(*values: float) -> dict[str, Any]:
    """Returns the body of a tick."""
    return {"observation": list(values) or [0.01, 0.02, 0.03, 0.04]}


def wait_until(claim: Callable[[], T], what: str, timeout_s: float = 90.0) -> T:
    """Returns the first true value of a claim; a service that is away counts as false."""
    end_s = time.monotonic() + timeout_s
    while True:
        value = _try(claim)
        if value:
            return value
        if time.monotonic() > end_s:
            raise AssertionError(f"{what}: not within {timeout_s:g} s, last {value!r}")
        time.sleep(0.05)


def _try(claim: Callable[[], T]) -> T | None:
    try:
        return claim()
    except httpx.TransportError:
        return None


def whole(url: str) -> dict[str, Any]:
    """Returns what all replicas answer together at an address; one that is busy for a second counts as silent."""

    def told() -> dict[str, Any] | None:
        answer: dict[str, Any] = httpx.get(url, timeout=30).json()
        return None if answer["silent"] else answer

    found = wait_until(told, f"all replicas answer to {url}")
    assert found is not None
    return found


@contextmanager
def meanwhile(work: Callable[[threading.Event], None]) -> Iterator[None]:
    """Does something beside the block until its event is set, at the block's end; what it raises is raised there."""
    ending = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(work, ending)
        try:
            yield
        finally:
            ending.set()
        done.result(60)


@contextmanager
def playing(url: str, games: int = 16, **changes: Any) -> Iterator["Future[SimulationResult]"]:
    """Plays CartPole, or another game, by the real client while the block runs; the result is there after it."""
    settings: dict[str, Any] = {"env": "CartPole-v1", "purpose": Purpose.TRAIN, "seed": 7} | changes
    simulation = Simulation(url=url, games=games, **settings)
    loop, result = asyncio.new_event_loop(), Future[SimulationResult]()
    stop = asyncio.Event()

    def run() -> None:
        try:
            result.set_result(loop.run_until_complete(play(simulation, stop)))
        except BaseException as error:  # noqa: BLE001  # Raised by who asks for the result.
            result.set_exception(error)

    thread = threading.Thread(target=run, name="game core", daemon=True)
    thread.start()
    try:
        yield result
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(20)
        loop.close()
