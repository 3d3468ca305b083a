"""Versions that are kept no more, and are asked for again."""

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import ray
from torch import nn

from app.config.release import Release
from app.errors import CheckpointError, TrackingError
from app.models.engines import Network
from app.models.module import hash_of, to_arrays
from app.models.saved import SavedModel
from app.releases.plan import Named, played_as
from app.stores.followed_model import FollowedModel, ReleaseSource
from app.types import UNTRAINED, Version

FACTORY = "tests.small_policy:SmallPolicy"


class FilledRegistry:
    """Has the versions it is made with, and notes the threads that load them."""

    def __init__(self, versions: dict[int, SavedModel | Exception]) -> None:
        self._versions = versions
        self.threads: list[threading.Thread] = []

    def find(self, reference: str) -> Named | None:
        return Named(int(reference)) if reference.isdecimal() else None

    def load(self, number: int) -> SavedModel:
        self.threads.append(threading.current_thread())
        found = self._versions[number]
        if isinstance(found, Exception):
            raise found
        return found

    def mark(self, number: int, reason: str) -> None:
        raise NotImplementedError

    def promote(self, alias: str, number: int, emptied: str | None) -> None:
        raise NotImplementedError

    def go_back(self, alias: str, reason: str) -> tuple[int, int]:
        raise NotImplementedError


@pytest.fixture(autouse=True)
def plain_references(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray, "put", lambda arrays: arrays)


@pytest.fixture
def network(tmp_path: Path) -> Network:
    return Network(FACTORY, {}, 0, tmp_path)


def saved(network: Network, spec_hash: str | None = None) -> SavedModel:
    module = network.build()
    return SavedModel(FACTORY, {}, spec_hash or hash_of(module), "0.7", to_arrays(module))


def followed(network: Network, registry: FilledRegistry, tmp_path: Path) -> FollowedModel:
    return FollowedModel(ReleaseSource(network, Release(follow="7"), "sqlite://", tmp_path, "model"), registry)


async def test_a_version_that_is_not_kept_comes_from_the_registry_without_stopping_the_loop(
    network: Network, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted, registry = saved(network), FilledRegistry({7: saved(network)})
    model = followed(network, registry, tmp_path)
    checking: list[threading.Thread] = []
    build = Network.build

    def watched(network: Network) -> nn.Module:
        checking.append(threading.current_thread())
        return build(network)

    monkeypatch.setattr(Network, "build", watched)
    arrays: Any = (await model.fetch(played_as(7)))[0]  # A reference, as a rule.
    assert arrays.keys() == wanted.arrays.keys()
    assert all(np.array_equal(arrays[name], wanted.arrays[name]) for name in arrays)
    assert checking
    assert threading.main_thread() not in [*registry.threads, *checking]


async def test_a_version_that_is_kept_is_not_loaded_again(network: Network, tmp_path: Path) -> None:
    registry = FilledRegistry({7: saved(network)})
    model = followed(network, registry, tmp_path)
    await model.look("main")
    (first,), (second,) = [await model.fetch(played_as(7)) for _ in range(2)]
    assert first is second
    assert len(registry.threads) == 1


@pytest.mark.parametrize(
    "version", [UNTRAINED, Version(1, 7), played_as(7), played_as(8), played_as(9)],
    ids=["untrained", "a trainer's", "refused", "not there", "damaged"],
)  # fmt: skip
async def test_what_cannot_be_fetched_is_an_empty_answer(network: Network, tmp_path: Path, version: Version) -> None:
    registry = FilledRegistry({7: saved(network), 8: TrackingError("no such version"), 9: CheckpointError("damaged")})
    model = followed(network, registry, tmp_path)
    await model.refuse("main", 7, "bad")
    assert await model.fetch(version) == []


async def test_a_version_of_another_network_is_an_empty_answer(network: Network, tmp_path: Path) -> None:
    model = followed(network, FilledRegistry({7: saved(network, "other")}), tmp_path)
    assert await model.fetch(played_as(7)) == []
