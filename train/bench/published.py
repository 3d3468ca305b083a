"""The service that ``publish`` measures: two actor replicas that follow models of several sizes."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Final, NamedTuple

import httpx
import numpy as np
import ray

from app.config.active import active
from app.config.root import ExperimentConfig
from app.models.module import build_module, hash_of, to_arrays
from app.stores.names import namespace_of
from app.stores.trial import Trial
from app.types import Arrays, Version
from deployments.port import free_port
from train.bench.service import BenchError, GamePort, replicas_of, status
from train.launch.ring import Ring
from train.launch.stopping import Stopper

POLICY: Final = "train.bench.policy:build"
START_TIMEOUT_S: Final = 120.0
"""Longest start of Ray or the service."""
TAKEN_TIMEOUT_S: Final = 30.0
"""Longest wait for both replicas to play what was published."""
LOOK_S: Final = 0.005
"""Seconds between two looks at the replicas, which say themselves when they took the weights."""
SETTLE_S: Final = 2.0
"""Pause behind a publish of large weights, in which the store writes them to disk."""
OBJECT_STORE_BYTES: Final = 3 * 2**30
"""Shared memory: the versions that store and replicas keep, and those on their way."""


class Moments(NamedTuple):
    """When one publish got where, in Unix seconds."""

    began_s: float
    put_s: float
    """When the object store had the weights."""
    reached_s: float
    """When the last of two had them."""

    def reach_ms(self) -> float:
        """Returns the milliseconds from the object reference to the last of two."""
        return 1e3 * (self.reached_s - self.put_s)

    def whole_ms(self) -> float:
        """Returns the milliseconds of the whole way."""
        return 1e3 * (self.reached_s - self.began_s)


class Published:
    """A running service, and a publisher of its weights."""

    def __init__(self, trial: Trial, config: ExperimentConfig, port: GamePort, clients: Sequence[httpx.Client]) -> None:
        self.port = port.port
        self._clients = clients
        self._weights = {name: trial.weights(name) for name in config.models}
        self._arrays: dict[str, Arrays] = {}
        self._versions: dict[str, Version] = {}
        for name, model in config.models.items():
            module = build_module(model.factory, model.kwargs, seed=1)
            self._arrays[name] = to_arrays(module)
            self._versions[name] = Version(self._weights[name].begin(hash_of(module)), -1)
        self._getters: list[Any] = [ray.remote(_Getter).options(num_cpus=0).remote() for _ in range(2)]

    def publish(self, size_mb: int) -> Moments:
        """Publishes weights of a size and returns when they got where.

        Raises:
          BenchError: A replica does not take them.
        """
        name = model_of(size_mb)
        before, began_s = self._versions[name], time.time()
        version = self._send(name)
        self._until(name, version)
        news = asyncio.run(_news(self._weights[name], before))
        taken_s = [float(status(client)["weights_taken_s"][name]) for client in self._clients]
        time.sleep(SETTLE_S * min(1.0, size_mb / 100))
        return Moments(began_s, news, max(taken_s))

    def put_and_get(self, size_mb: int) -> Moments:
        """Puts weights of a size plainly, has two actors get them, and returns when they got where."""
        arrays = self._arrays[model_of(size_mb)]
        began_s = time.time()
        ref = ray.put(arrays)
        put_s = time.time()
        return Moments(began_s, put_s, max(ray.get([getter.get.remote([ref]) for getter in self._getters])))

    @contextmanager
    def updating(self, size_mb: int, number: int, after_s: float, seconds: float) -> Iterator[Callable[[], int]]:
        """Publishes evenly over a time while the block runs; the result tells how many updates were sent."""
        name, sent, ends = model_of(size_mb), [0], threading.Event()

        def run() -> None:
            begin_s = time.monotonic() + after_s
            for at in range(number):
                if ends.wait(max(0.0, begin_s + at * seconds / number - time.monotonic())):
                    return
                self._send(name)
                sent[0] += 1

        thread = threading.Thread(target=run, name="publisher", daemon=True)
        thread.start()
        try:
            yield lambda: sent[0]
        finally:
            ends.set()
            thread.join(TAKEN_TIMEOUT_S)
        self._until(name, self._versions[name])

    def _send(self, name: str) -> Version:
        last = self._versions[name]
        version = self._versions[name] = Version(last.generation, last.number + 1)
        ray.get(self._weights[name].publish(version, self._arrays[name]), timeout=TAKEN_TIMEOUT_S)
        return version

    def _until(self, name: str, version: Version) -> None:
        end_s = time.monotonic() + TAKEN_TIMEOUT_S
        while any(status(client)["versions"][name] != str(version) for client in self._clients):
            if time.monotonic() > end_s:
                raise BenchError(f"a replica does not play weights {version} within {TAKEN_TIMEOUT_S:g} s")
            time.sleep(LOOK_S)


class _Getter:
    """Gets an object, and nothing else."""

    def get(self, refs: "list[ray.ObjectRef[Any]]") -> float:
        """Returns when the object was there, in Unix seconds."""
        found: Arrays = ray.get(refs[0])
        for array in found.values():
            np.add(array.reshape(-1)[:1], 0)  # It is there, not only promised.
        return time.time()


def model_of(size_mb: int) -> str:
    """Returns the name of the model of a size."""
    return f"mb{size_mb}"


def publish_config(sizes_mb: Sequence[int]) -> ExperimentConfig:
    """Returns the config of two replicas that hold a model of each size; sessions ask the smallest."""
    models = {model_of(size): {"factory": POLICY, "kwargs": {"mb": size}} for size in sorted(sizes_mb)}
    agents = {name: {"model": name} for name in models}
    actor = {"agents": list(agents), "replicas": 2, "port": 0, "num_cpus": 0}
    run = {"project": "bench", "trial": "publish", "mode": "deploy"}
    return ExperimentConfig.model_validate({"run": run, "models": models, "agents": agents, "actors": {"pair": actor}})


@contextmanager
def publishing(sizes_mb: Sequence[int], stopper: Stopper) -> Iterator[Published]:
    """Serves models of some sizes until the end of the block; then all processes of the service are gone.

    Raises:
      SparringError: The service cannot be started.
      InterruptedLaunchError: The user has asked to stop.
    """
    config = active(publish_config(sizes_mb))
    ring = Ring(config, free_port(), START_TIMEOUT_S, stopper, OBJECT_STORE_BYTES)
    with ExitStack() as stack:
        stack.callback(ring.close)
        ring.start_ray()
        port = replicas_of(ring.serve(config)["pair"], 2)
        clients = [stack.enter_context(port.client(pid)) for pid in port.pids]
        yield Published(Trial(namespace_of(config.run)), config, port, clients)


async def _news(weights: Any, than: Version) -> float:  # A reference is awaited on a loop.
    found = await weights.news(than)
    if found is None:
        raise BenchError(f"the store has nothing newer than {than}")
    return float(found[1])
