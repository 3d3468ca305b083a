"""Weights that cannot be loaded come under traffic: no tick fails, and what answered before answers on."""

import threading
from collections.abc import Iterator

import numpy as np
import pytest
import ray

from app.models.module import hash_of, to_arrays
from app.types import UNTRAINED, Arrays, Version

from .service import Cluster, Service, observation, step, wait_until

pytestmark = pytest.mark.ray


ALSO = [pytest.param(name, marks=pytest.mark.long) for name in ("onnx-local", "torch-remote")]


@pytest.fixture(scope="module", params=["torch-local", "onnx-remote", *ALSO])
def service(request: pytest.FixtureRequest, cluster: Cluster) -> Iterator[Service]:
    engine, placement = request.param.split("-")
    chosen = (f"models.main.engine={engine}", f"models.main.placement={placement}")
    with Service(cluster, f"broken_{engine}_{placement}", *chosen) as running:
        yield running


def _broken(good: Arrays) -> list[Arrays]:
    """Returns weights of other shapes, without a tensor, and of a dtype that neither engine knows."""
    first = next(iter(good))
    return [
        {name: array[..., :1] for name, array in good.items()},
        {name: array for name, array in good.items() if name != first},
        {name: np.full(array.shape, "w") for name, array in good.items()},
    ]


def test_weights_that_cannot_be_loaded_fail_no_tick_and_later_ones_are_taken(service: Service) -> None:
    stop, statuses, seen = threading.Event(), [], set()

    def play() -> None:
        with service.new_client() as http:
            step(http, "steady", "start")
            while not stop.is_set():
                reply = step(http, "steady", "tick", observation())
                statuses.append(reply.status_code)
                seen.add(reply.headers.get("policy_version"))
            step(http, "steady", "stop")

    thread = threading.Thread(target=play, daemon=True)
    thread.start()
    good = str(service.send(seed=3))
    wait_until(lambda: good in seen, f"weights {good} are played", 60)
    weights, module = service.trial.weights("main"), service.module(3)
    generation = weights.begin(hash_of(module))
    for number, broken in enumerate(_broken(to_arrays(module))):
        ray.get(weights.publish(Version(generation, number), broken))
    last = str(service.send(seed=4))
    wait_until(lambda: last in seen, f"weights {last} are played", 60)
    stop.set()
    thread.join()
    assert set(statuses) == {200}
    assert seen <= {str(UNTRAINED), good, last}
