"""Models with nested values and with a state, through the whole ring."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import ray

from app.errors import ConfigError
from app.stores.names import STORES, namespace_of

from .service import Cluster, Service, config_of, meanwhile, step, steps, wait_until
from .training import trainer, training, updates

pytestmark = pytest.mark.ray

POLICY = "models.main.factory=app.models.networks.policy:build"
NESTED = (
    "models.main.kwargs={observation: {me: {shape: [2]}, units: {shape: [3, 4]}}, "
    "action: [{points_at: units}, {shape: [2], low: -1, high: 1}], "
    "encoder: {kind: parts, hidden: [16], parts: {me: {kind: mlp, hidden: [8]}, "
    "units: {kind: entities, hidden: 8, heads: 2, present: 0}}}}"
)
RECURRENT = (
    "models.main.kwargs={observation: {shape: [2]}, action: {shape: [2]}, memory: {kind: lstm, units: 8}, head_gain: 1}"
)
TICKS = 20
GAMES = 8


def tick(game: int, t: int) -> dict[str, Any]:
    units = [[1, game, t, 0], [t % 2, 0, 0, 1], [0, 9, 9, 9]]
    return {
        "observation": {"me": [t / TICKS, 1], "units": units},
        "reward": float(t % 3),
        "action_mask": [[1, t % 2, 0], None],
    }


def play_round(service: Service, number: int) -> list[tuple[int, Any]]:
    """Plays a game a session and returns each tick's number and action."""
    seen = []
    with service.new_client() as http:
        for game in range(GAMES):
            session = f"game-{game}"
            sent: list[dict[str, Any]] = [{"session": session, "kind": "start"}]
            sent += [{"session": session, "kind": "tick", "body": tick(number, t)} for t in range(TICKS)]
            sent += [{"session": session, "kind": "stop", "body": {"terminated": True, "reward": 1.0}}]
            answers = steps(http, sent)
            seen += [(t, answer["body"]["action"]) for t, answer in enumerate(answers[1:-1])]
    return seen


@contextmanager
def playing_nested(service: Service) -> Iterator[list[tuple[int, Any]]]:
    """Plays for as long as the block runs; the actions are there after it."""
    seen: list[tuple[int, Any]] = []

    def play(ending: threading.Event) -> None:
        number = 0
        while not ending.is_set():
            seen.extend(play_round(service, number))
            number += 1

    with meanwhile(play):
        yield seen


def test_a_nested_policy_trains_and_never_takes_what_its_mask_forbids(cluster: Cluster, tmp_path: Path) -> None:
    with Service(cluster, "nested", POLICY, NESTED) as service, playing_nested(service) as seen:
        with training(service, tmp_path):
            found = updates(service, lambda found: len(found) > 4, "updates")
        assert all(np.isfinite(list(update.metrics.values())).all() for update in found)
        assert found[-1].metrics["optimizer_steps"] > 0
        newest = service.trial.weights("main").newest()
        assert newest is not None
        assert newest.number >= 3
        wait_until(lambda: service.status()["versions"]["main"] != "0.0", "what was learned is played")
    assert len(seen) > GAMES * TICKS
    for t, (target, go) in seen:
        assert target in ([0, 1] if t % 2 else [0])
        assert len(go) == 2
        assert all(-1 <= number <= 1 for number in go)


@pytest.mark.parametrize("placement", ["local", "remote"])
def test_a_recurrent_policy_is_served_with_a_state_for_each_game(cluster: Cluster, placement: str) -> None:
    changes = (POLICY, RECURRENT, "run.mode=deploy", f"models.main.placement={placement}", "models.main.num_cpus=0.1")
    with Service(cluster, f"recurrent_{placement}", *changes) as service:
        first, second = whole(service, "one"), whole(service, "two")
        assert len({tuple(action) for action in first}) == len(first)  # One observation, another state each time.
        np.testing.assert_allclose(first, second, rtol=1e-5, atol=1e-6)  # Each began with zeros.
        np.testing.assert_allclose(whole(service, "one"), first, rtol=1e-5, atol=1e-6)  # And so when played again.


def whole(service: Service, session: str) -> list[list[float]]:
    """Returns the actions of one greedy game that always shows the same."""
    step(service.http, session, "start", {"greedy": True})
    ticks = [step(service.http, session, "tick", {"observation": [1.0, -1.0]}) for _ in range(5)]
    step(service.http, session, "stop")
    return [reply.json()["action"] for reply in ticks]


SCORER = "models.main.factory=tests.small_policy:Scorer"


def test_training_a_model_that_does_not_fit_is_refused_before_anything_starts(cluster: Cluster, tmp_path: Path) -> None:
    refused = Service(cluster, "refused", SCORER)
    message = r"trainers\.main\.model: ppo cannot train models\.main: it is no policy"
    with pytest.raises(ConfigError, match=message):
        refused.deploy()
    namespace = namespace_of(config_of("refused").run)
    with pytest.raises(ValueError, match="Failed to look up actor"):
        ray.get_actor(STORES, namespace=namespace)
    with Service(cluster, "plain") as plain:
        with pytest.raises(ConfigError, match=message):
            trainer(plain, tmp_path, SCORER)
        assert plain.trial.metrics.updates_after(0) == []
