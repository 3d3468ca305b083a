"""Weights on their way from a publisher into real replicas, and what an operator sees of them."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import pytest
import ray
from safetensors import safe_open
from safetensors.numpy import load

from app.models.content import content_hash
from app.models.module import hash_of, to_arrays
from app.types import Version

from .service import Cluster, Service, observation, step, wait_until

pytestmark = pytest.mark.ray


@pytest.fixture(scope="module")
def service(cluster: Cluster) -> Iterator[Service]:
    with Service(cluster, "weights", "models.main.weights.cache_versions=4") as running:
        yield running


def test_weights_have_no_age_before_the_first_and_grow_old_when_nobody_publishes(cluster: Cluster) -> None:
    with Service(cluster, "age") as running:
        assert running.status()["weights_age_s"] == {"main": None}
        assert "sparring_weights_age_seconds{" not in running.http.get("/metrics").text
        assert running.http.get("/weights").json()["models"]["main"]["newest"] is None
        assert running.http.get("/weights/main/latest").status_code == 404
        running.publish(seed=1)
        young_s = running.status()["weights_age_s"]["main"]
        assert 0 <= young_s < 30
        wait_until(lambda: running.status()["weights_age_s"]["main"] > young_s + 0.2, "weights grow old")
        assert "sparring_weights_age_seconds{" in running.http.get("/metrics").text


def test_weights_are_listed_and_downloaded_as_they_were_published(service: Service) -> None:
    first, second = service.publish(seed=1), service.publish(seed=2)
    shown = service.http.get("/weights").json()["models"]["main"]
    assert shown["newest"] == str(second)
    assert {str(first), str(second)} <= {kept["version"] for kept in shown["versions"]}
    expected, spec_hash = to_arrays(service.module(2)), hash_of(service.module(2))
    assert shown["versions"][-1]["content_hash"] == content_hash(expected, spec_hash)
    reply = service.http.get("/weights/main/latest")
    assert (reply.status_code, reply.headers["policy_version"]) == (200, str(second))
    found = load(reply.content)
    assert content_hash(found, spec_hash) == content_hash(expected, spec_hash)
    assert reply.content == service.http.get(f"/weights/main/{second}").content
    unchanged = service.http.get("/weights/main/latest", headers={"if-none-match": reply.headers["etag"]})
    assert (unchanged.status_code, unchanged.content) == (304, b"")
    older = service.http.get(f"/weights/main/{first}", headers={"if-none-match": reply.headers["etag"]})
    assert content_hash(load(older.content), spec_hash) == content_hash(to_arrays(service.module(1)), spec_hash)


def test_serves_port_sends_on_to_the_game_port(service: Service) -> None:
    service.publish(seed=1)
    with httpx.Client(follow_redirects=True, timeout=30) as client:
        assert client.get(f"{service.serve_url}/weights/main/latest").status_code == 200
        assert client.get(f"{service.serve_url}/weights").json()["models"]


def test_the_newest_weights_lie_on_disk_with_their_origin(service: Service) -> None:
    version = service.publish(seed=3)
    file = service.home / "weights" / "weights" / "main.safetensors"
    wait_until(lambda: file.exists() and _written(file) == str(version), "the newest weights are on disk")
    with safe_open(file, framework="numpy") as opened:
        meta = opened.metadata()
    assert meta["content_hash"] == content_hash(to_arrays(service.module(3)), meta["spec_hash"])
    assert (meta["schema_version"], meta["spec_hash"]) == ("1", hash_of(service.module(3)))


def _written(file: Path) -> str:
    """Returns the version that a file holds."""
    with safe_open(file, framework="numpy") as opened:
        return str(opened.metadata()["version"])


def test_an_age_goes_on_when_the_stores_start_again(service: Service) -> None:
    service.publish(seed=3)  # The store keeps this one too until it starts again.
    version = service.publish(seed=1)
    file = service.home / "weights" / "weights" / "main.safetensors"
    wait_until(lambda: file.exists() and _written(file) == str(version), "the newest weights are on disk")
    age_s = service.status()["weights_age_s"]["main"]
    service.restart_stores()
    wait_until(lambda: _kept(service) == [str(version)], "the store is back")
    assert service.status()["versions"]["main"] == str(version)
    assert service.http.get("/weights").json()["models"]["main"]["age_s"] > age_s
    assert service.publish(seed=2).generation > version.generation


def _kept(service: Service) -> list[str]:
    """Returns the versions that the store keeps; none while it is away."""
    reply = service.http.get("/weights")
    models = reply.json()["models"] if reply.status_code == 200 else {}
    return [kept["version"] for kept in models.get("main", {"versions": []})["versions"]]


def test_updates_while_games_are_played_lose_no_tick(service: Service) -> None:
    weights, module = service.trial.weights("main"), service.module(4)
    generation = weights.begin(hash_of(module))
    stop = threading.Event()

    def publish() -> None:
        for number in range(100):
            ray.get(weights.publish(Version(generation, number), to_arrays(module)))
        stop.set()

    thread = threading.Thread(target=publish, daemon=True)
    step(service.http, "steady", "start")
    thread.start()
    seen = []
    while not stop.is_set():
        reply = step(service.http, "steady", "tick", observation())
        assert reply.status_code == 200
        seen.append(Version.parse(reply.headers["policy_version"]))
    thread.join()
    step(service.http, "steady", "stop")
    assert seen == sorted(seen)
    wait_until(lambda: service.status()["versions"]["main"] == f"{generation}.99", "the last one is played")


def test_a_game_keeps_the_weights_of_its_start_where_the_config_says_so(cluster: Cluster) -> None:
    with Service(cluster, "steady", "models.main.weights.change=game_start") as running:
        first = running.publish(seed=1)
        step(running.http, "old", "start")
        for seed in range(2, 6):  # More than the store keeps.
            newest = running.publish(seed)
        step(running.http, "new", "start")
        for session, version in (("old", first), ("new", newest)):
            reply = step(running.http, session, "tick", observation())
            assert reply.headers["policy_version"] == str(version)
            step(running.http, session, "stop")
        assert step(running.http, body=observation()).headers["policy_version"] == str(newest)


def test_weights_are_shared_by_the_replicas_of_a_node_and_not_copied(service: Service) -> None:
    service.publish(seed=1)
    weights = service.trial.weights("main")
    version = weights.newest()
    assert version is not None
    one, two = (asyncio.run(_fetched(weights, version)) for _ in range(2))
    assert all(not array.flags.writeable for array in (*one.values(), *two.values()))
    assert np.array_equal(one["critic.0.weight"], two["critic.0.weight"])


async def _fetched(weights: object, version: Version) -> dict[str, np.ndarray]:
    return await weights.fetch(version)  # type: ignore[attr-defined, no-any-return]
