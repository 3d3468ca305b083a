"""Registers versions of CartPole's network in the test's MLflow, and plays games whose returns tell them apart."""

import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import numpy as np
import torch

from app.home import state_root
from app.models.module import build_module, hash_of, to_arrays
from app.models.saved import SavedModel, write_model
from app.stores.mlflow_store import ModelRegistry, artifact_location, connect, prepare, tracking_uri
from app.types import Arrays

from .service import Cluster, Service, config_of, step, steps

TICKS = 10
"""Ticks of a game; each pays 1 for the right action."""


class Registered:
    """One registered model in MLflow's store of the project."""

    def __init__(self, cluster: Cluster, name: str, *overrides: str) -> None:
        self.name = name
        self.overrides = overrides
        self._config = config_of("registering", *overrides)
        self._root = state_root(self._config.run.project)
        self._uri = tracking_uri(None, self._root)
        prepare(self._uri, self._root)
        self.client = connect(self._uri)
        place = artifact_location(self._uri, self._root, name)
        experiment = self.client.create_experiment(name, artifact_location=place)
        self._run = str(self.client.create_run(experiment).info.run_id)
        assert cluster.home in self._root.parents

    def add(self, arrays: Arrays, alias: str, spec_hash: str | None = None) -> int:
        """Registers weights, moves the alias there, and returns the number of the version."""
        model = self._config.models["main"]
        known = hash_of(build_module(model.factory, model.kwargs, 0))
        saved = SavedModel(model.factory, model.kwargs, spec_hash or known, "1.0", arrays)
        with tempfile.TemporaryDirectory() as folder:
            write_model(Path(folder), saved)
            return ModelRegistry(self._uri, self._root).register(self.name, Path(folder), self._run, {}, alias)

    def add_damaged(self, alias: str) -> int:
        """Registers files that are no weights."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            write_model(folder, SavedModel("app.games.cartpole.model:build", {}, "0", "1.0", {}))
            (folder / "weights.safetensors").write_bytes(b"\x10\0\0\0\0\0\0\0damaged")
            return ModelRegistry(self._uri, self._root).register(self.name, folder, self._run, {}, alias)

    def named(self, alias: str) -> int:
        return int(self.client.get_model_version_by_alias(self.name, alias).version)

    def tags(self, number: int) -> dict[str, str]:
        return dict(self.client.get_model_version(self.name, str(number)).tags)


def weights(seed: int = 0, **changes: float) -> Arrays:
    """Returns a network that pushes right where the cart stands right of the middle.

    Args:
      seed: Draws all parameters that do not matter.
      changes: ``head`` scales the last layer: 0 pushes at random, -1 the wrong way.
    """
    config = config_of("registering")
    module = build_module(config.models["main"].factory, config.models["main"].kwargs, seed)
    arrays = to_arrays(module)
    for layer, (row, column) in (("policy.0", (0, 0)), ("policy.2", (0, 0))):
        arrays[f"{layer}.weight"][:] = 0
        arrays[f"{layer}.weight"][row, column] = 3
    last = arrays["policy.4.weight"]
    last[:] = 0
    last[1, 0] = 6 * changes.get("head", 1.0)
    return arrays


def not_finite() -> Arrays:
    arrays = weights()
    arrays["critic.4.bias"][:] = np.nan
    return arrays


def infinite_answer() -> Arrays:
    """Returns weights that are finite and whose answer is not."""
    arrays = weights()
    arrays["critic.0.bias"][:] = 1e3
    arrays["critic.4.weight"][:] = float(torch.finfo(torch.float32).max)
    arrays["critic.2.weight"][:] = 0
    arrays["critic.2.bias"][:] = 1e3
    return arrays


@contextmanager
def released(cluster: Cluster, registered: Registered, *overrides: str) -> Iterator[Service]:
    """Serves the champion of a registered model."""
    trial = registered.name.partition(".")[0]
    basis = (
        "run.mode=deploy",
        f"models.main.checkpoint=models:/{registered.name}@champion",
        "models.main.release.poll_s=0.2",
    )
    with Service(cluster, trial, *basis, *registered.overrides, *overrides) as service:
        yield service


def play(http: httpx.Client, names: list[str]) -> Counter[str]:
    """Plays a whole game of each name, and returns how many each version has played."""
    random = np.random.default_rng(len(names))
    steps(http, [{"session": name, "kind": "start"} for name in names])
    rewards = dict.fromkeys(names, 0.0)
    for _ in range(TICKS - 1):
        cart = {name: float(random.choice([-1.0, 1.0])) for name in names}
        body = {name: {"observation": [cart[name], 0, 0, 0], "reward": rewards[name]} for name in names}
        for answer in steps(http, [{"session": name, "kind": "tick", "body": body[name]} for name in names]):
            name = str(answer["session"])
            right = answer["body"]["action"] == (cart[name] > 0)  # type: ignore[index]
            rewards[name] = float(right)
    versions = {}
    for name in names:  # A batch's answers do not tell their version.
        body_ = {"observation": [1.0, 0, 0, 0], "reward": rewards[name]}
        last = step(http, name, "tick", body_)
        rewards[name] = float(last.json()["action"] == 1)
        versions[name] = last.headers["policy_version"]
    ends = {name: {"reward": rewards[name], "terminated": True} for name in names}
    steps(http, [{"session": name, "kind": "stop", "body": ends[name]} for name in names])
    return Counter(versions.values())
