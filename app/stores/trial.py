"""All stores of one trial: made by the service, found by the trainer."""

import secrets
import time
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any, Final

from app.config.base import Process
from app.config.league import LeagueConfig
from app.config.root import ExperimentConfig
from app.errors import ServiceNotFoundError
from app.league.players import Weights as PlayerWeights
from app.models.pool import CLONES
from app.models.spec import ModelSpec
from app.stores.alarms import AlarmClient, AlarmStore
from app.stores.buffer import Buffer
from app.stores.buffer_settings import buffer_settings
from app.stores.buffer_store import BufferStore
from app.stores.directory import DirectoryClient, DirectoryStore
from app.stores.errors import ErrorClient, ErrorStore
from app.stores.followed_model import ReleaseSource
from app.stores.gate import Gate, open_gate
from app.stores.host import Store, StoreHandle, close_hosts, find_host, found_hosts, open_host
from app.stores.league import LeagueStore
from app.stores.league_client import LeagueClient
from app.stores.metrics import MetricStore
from app.stores.metrics_client import Metrics
from app.stores.names import LEAGUE, RELEASES, STORES, buffer_host, namespace_of
from app.stores.releases import ReleaseStore
from app.stores.releases_client import Operator, Releases
from app.stores.shard import ShardStore
from app.stores.snapshots import Snapshots, SnapshotStore
from app.stores.weights import WeightStore
from app.stores.weights_client import Catalog, Weights

SNAPSHOT_BYTES_MAX: Final = 512 * 2**20
"""Bytes that snapshots of games may take: 50,000 games of 10 KiB."""

START_S: Final = 60.0
"""Longest wait for the process that follows the registry, and for that of the league."""


LEAGUE_S: Final = 30.0
"""Longest wait for the league's process, which is started after that of the other stores."""
LOOK_S: Final = 0.2
"""Seconds between two looks for it."""


class Trial:
    """Reaches the stores of a trial by name."""

    def __init__(self, namespace: str) -> None:
        """Finds the trial.

        Raises:
          ServiceNotFoundError: No service of that project and trial runs.
        """
        self.namespace = namespace
        self._stores = find_host(namespace, STORES)
        self.directory = DirectoryClient(StoreHandle(self._stores, "directory"))
        self.metrics = Metrics(StoreHandle(self._stores, "metrics"))
        self.errors = ErrorClient(StoreHandle(self._stores, "errors"))
        self.alarms = AlarmClient(StoreHandle(self._stores, "alarms"))
        self.snapshots = Snapshots(StoreHandle(self._stores, "snapshots"))

    @property
    def catalog(self) -> Catalog:
        """All that the weight store keeps."""
        return Catalog(StoreHandle(self._stores, "weights"))

    def weights(self, model: str) -> Weights:
        """Returns the weight store's side of a model."""
        return Weights(StoreHandle(self._stores, "weights"), model)

    def buffer(self, name: str) -> Buffer:
        """Returns a buffer.

        Raises:
          ServiceNotFoundError: The service has no such buffer.
        """
        return find_buffer(self.namespace, name)

    def releases(self, model: str) -> Releases:
        """Returns the release store's side of a model.

        Raises:
          ServiceNotFoundError: No model of the service follows the registry.
        """
        return Releases(StoreHandle(find_host(self.namespace, RELEASES), RELEASES), model)

    def operator(self) -> Operator:
        """Returns what promotes versions and takes them back.

        Raises:
          ServiceNotFoundError: No model of the service follows the registry.
        """
        return Operator(StoreHandle(find_host(self.namespace, RELEASES), RELEASES))

    def league(self, wait_s: float = LEAGUE_S) -> LeagueClient:
        """Returns the league, whatever was started first: one that is on its way is waited for.

        Raises:
          ServiceNotFoundError: None came in time.
        """
        end_s = time.monotonic() + wait_s
        while not (hosts := found_hosts(self.namespace, [LEAGUE])):
            if time.monotonic() >= end_s:
                raise ServiceNotFoundError(
                    f"the service of {self.namespace!r} has no league, waited for {wait_s:g} s; allowed is a service "
                    "that was started with a config that has a section 'league'"
                )
            time.sleep(LOOK_S)
        return LeagueClient(StoreHandle(hosts[0], LEAGUE))

    def gate(self, name: str) -> Gate:
        """Returns what keeps the workers that read a source in step, made if it does not run yet."""
        return open_gate(self.namespace, name)

    def close(self) -> None:
        """Ends the stores' processes."""
        close_hosts(self.namespace)


def open_stores(config: ExperimentConfig, home: Path) -> Trial:
    """Returns the stores of the trial, started where they do not run yet."""
    namespace = namespace_of(config.run)
    folder = home / config.run.trial
    stores: dict[str, tuple[type[Store], dict[str, Any]]] = {
        "weights": (WeightStore, {"folder": str(folder / "weights"), "clones": str(folder / CLONES)}),
        "metrics": (MetricStore, {"series_max": config.metrics.series_max, "file": str(folder / "totals.json")}),
        "errors": (ErrorStore, {"kept": config.logs.errors_kept}),
        "alarms": (AlarmStore, {}),
        "directory": (
            DirectoryStore,
            {"home": str(home), "mode": config.run.mode, "cluster_secret": secrets.token_hex(16)},
        ),
        "snapshots": (SnapshotStore, {"max_bytes": SNAPSHOT_BYTES_MAX}),
    }
    open_host(namespace, STORES, config.stores, stores, config.logs)
    return Trial(namespace)


def open_league(
    config: ExperimentConfig, league: LeagueConfig, home: Path, weights: Mapping[str, PlayerWeights]
) -> None:
    """Starts the league where it does not run yet; one that runs takes changes up.

    Args:
      config: The trial's.
      league: Its league.
      home: State root of the project.
      weights: What the league's references to weights stand for, by reference.

    Raises:
      LeagueError: Its files cannot be gone on from.
    """
    folder = str(home / config.run.trial / LEAGUE)
    kwargs = {"config": league, "folder": folder, "seed": config.run.seed, "weights": dict(weights)}
    host = open_host(namespace_of(config.run), LEAGUE, league, {LEAGUE: (LeagueStore, kwargs)}, config.logs)
    LeagueClient(StoreHandle(host, LEAGUE)).configure_now(league, weights, START_S)


def find_buffer(namespace: str, name: str) -> Buffer:
    """Returns a buffer with all its shards.

    Raises:
      ServiceNotFoundError: It does not run.
    """
    first = find_host(namespace, buffer_host(name))
    others = found_hosts(namespace, (buffer_host(name, shard) for shard in count(1)))
    return Buffer([StoreHandle(first, "buffer"), *(StoreHandle(host, "shard") for host in others)])


def open_buffer(config: ExperimentConfig, name: str, spec: ModelSpec) -> None:
    """Starts a buffer where it does not run yet; one that no trainer reads holds a single push."""
    namespace, buffer = namespace_of(config.run), config.buffers[name]
    settings = buffer_settings(config, name)
    process = Process(num_cpus=buffer.num_cpus, num_gpus=buffer.num_gpus, memory_mb=buffer.memory_mb)
    others = []
    for shard in range(1, buffer.shards):
        kwargs = {"spec": spec, "settings": settings, "shard": shard}
        host = open_host(
            namespace, buffer_host(name, shard), process, {"shard": (ShardStore, kwargs)}, config.logs, spread=True
        )
        others.append(StoreHandle(host, "shard"))
    kwargs = {"spec": spec, "settings": settings, "others": others}
    open_host(namespace, buffer_host(name), process, {"buffer": (BufferStore, kwargs)}, config.logs)


def open_releases(config: ExperimentConfig, models: dict[str, ReleaseSource]) -> None:
    """Starts what follows the registry, where a model does; one that runs takes the changes up."""
    if not models:
        return
    host = open_host(
        namespace_of(config.run), RELEASES, Process(), {RELEASES: (ReleaseStore, {"models": models})}, config.logs
    )
    StoreHandle(host, RELEASES).get("configure", models, timeout_s=START_S)
