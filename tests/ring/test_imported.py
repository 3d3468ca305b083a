"""A policy of Stable-Baselines3's is imported, served, and acts as its network says."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from app.cli import main
from app.config.load import load
from tests.train.porting.files import actor_critic, write

from .service import Cluster, Service, step

pytestmark = pytest.mark.ray


@contextmanager
def served(cluster: Cluster, folder: Path) -> Iterator[Service]:
    """Serves what the import has written."""
    service = Service(cluster, "imported")
    service.config = load(folder / "config.yaml", ["actors.main.port=0"])
    with service:
        yield service


def best(network: nn.ModuleDict, seen: np.ndarray) -> int:
    layers = network["mlp_extractor"]
    assert isinstance(layers, nn.ModuleDict)
    with torch.no_grad():
        return int(network["action_net"](layers["policy_net"](torch.from_numpy(seen))).argmax())


def test_an_imported_policy_acts_over_the_game_port_as_its_network_says(cluster: Cluster, tmp_path: Path) -> None:
    with torch.random.fork_rng():
        torch.manual_seed(0)  # One of a thousand networks knows one action alone.
        network = actor_critic()
    write(tmp_path / "model.zip", network.state_dict())
    with pytest.raises(SystemExit) as ended:
        main(["import-sb3", str(tmp_path / "model.zip"), "--to", str(tmp_path / "pilot")])
    assert ended.value.code == 0
    source = np.random.default_rng(0)
    with served(cluster, tmp_path / "pilot") as service:
        assert service.step("a", "start", purpose="evaluate").status_code == 200
        acted = set()
        for _ in range(50):
            seen = (3 * source.normal(size=4)).astype(np.float32)
            reply = step(service.http, "a", "tick", {"observation": seen.tolist()})
            assert reply.json()["action"] == best(network, seen)
            acted.add(reply.json()["action"])
        assert len(acted) > 1
