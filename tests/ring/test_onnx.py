"""A service whose model ONNX Runtime runs, in both placements."""

from collections.abc import Iterator

import numpy as np
import pytest

from app.models.torch_engine import TorchEngine

from .service import Cluster, Service, observation

pytestmark = pytest.mark.ray


@pytest.fixture(scope="module", params=["local", "remote"])
def service(request: pytest.FixtureRequest, cluster: Cluster) -> Iterator[Service]:
    placement = f"models.main.placement={request.param}"
    with Service(cluster, f"onnx_{request.param}", "models.main.engine=onnx", placement) as running:
        yield running


def greedy(service: Service, session: str, states: np.ndarray) -> list[int]:
    assert service.step(session, "start", purpose="evaluate").status_code == 200
    ticks = [service.step(session, "tick", observation(*state)) for state in states.tolist()]
    service.step(session, "stop", {"terminated": True})
    return [tick.json()["action"] for tick in ticks]


def test_games_are_answered_by_published_weights_as_torch_would_answer(service: Service) -> None:
    states = np.random.default_rng(5).normal(size=(30, 4)).astype(np.float32)
    first = greedy(service, "first", states)
    assert first == TorchEngine(service.module(service.config.run.seed)).forward([states]).outputs[0].argmax(1).tolist()
    if service.config.models["main"].placement == "local":  # Of a remote one the replica does not know the version.
        service.publish(seed=8)
        wanted = TorchEngine(service.module(8)).forward([states]).outputs[0].argmax(1).tolist()
        assert wanted != first
        assert greedy(service, "second", states) == wanted


def test_the_graph_is_kept_under_the_state_root(service: Service) -> None:
    assert len(list((service.home / "graphs").glob("*.onnx"))) == 1
