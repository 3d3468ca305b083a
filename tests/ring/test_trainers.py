"""Several agents, each with a model, a buffer and a trainer of its own."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import numpy as np
import pytest

from app.config.active import active
from train.session import TrainingSession

from .service import Cluster, Service, config_of, meanwhile, steps, wait_until
from .training import START_S

pytestmark = pytest.mark.ray

SECOND = (
    "models.second={factory: 'app.games.cartpole.model:build', kwargs: {hidden: 32}}",
    "agents.other={model: second, buffer: seconds}",
    "actors.main.agents=[player, other]",
    "buffers.seconds={heartbeat_s: 0.5}",
    "trainers.second={model: second, inputs: [{buffer: seconds, batch_rows: 128, "
    "algorithm: {minibatch_rows: 64, epochs: 1}}], num_cpus: 0.25}",
)


@contextmanager
def games(service: Service) -> Iterator[None]:
    """Plays games of two sides for as long as the block runs."""

    def play(ending: threading.Event) -> None:
        random = np.random.default_rng(0)
        with service.new_client() as http:
            for number in range(10_000):
                names = [f"g{number}.{game}-agent-{side}" for game in range(8) for side in ("player", "other")]
                _frame(http, names, "start", None)
                for _ in range(20):
                    _frame(http, names, "tick", {"observation": random.normal(size=4).tolist(), "reward": 1.0})
                _frame(http, names, "stop", {"reward": 0.0, "terminated": True})
                if ending.is_set():
                    return

    with meanwhile(play):
        yield


def _frame(http: httpx.Client, names: list[str], kind: str, body: object) -> None:
    sent = [{"session": name, "kind": kind, **({} if body is None else {"body": body})} for name in names]
    for answer in steps(http, sent):
        assert "error" not in answer, answer


def test_each_agent_learns_from_its_own_rows_and_all_champions_are_registered(cluster: Cluster) -> None:
    with Service(cluster, "sides", *SECOND) as service:
        config = active(config_of("sides", *SECOND))
        session = TrainingSession(config, service.trial, Path(service.home))
        session.start()
        try:
            with games(service):
                for trainer in ("main", "second"):
                    wait_until(
                        lambda name=trainer: len(service.trial.metrics.updates_after(0, name)) > 3,
                        f"{trainer} learns",
                        START_S,
                    )
            session.stop()
            wait_until(lambda: session.join(0.1), "both end", START_S)
            numbers = session.promote(session.pin())
            assert set(numbers) == {"main", "second"}
        finally:
            session.stop()
            session.close(succeeded=True)
        main, second = (service.trial.metrics.progress(1, name, agents) for name, agents in _AGENTS.items())
        assert main.mean_return is not None
        assert second.mean_return is not None
        assert service.trial.buffer("rollouts").stats().popped > 0
        assert service.trial.buffer("seconds").stats().popped > 0


_AGENTS = {"main": ["player"], "second": ["other"]}
