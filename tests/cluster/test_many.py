"""Weights on eight nodes: each node fetches them once, however many of its replicas take them."""

import json
import subprocess
import sys
import tempfile

import pytest

from .network import at_home

pytestmark = [pytest.mark.cluster, pytest.mark.long, pytest.mark.timeout(900)]

NODES = 8


def test_weights_come_to_each_of_eight_nodes_once(networks: None) -> None:
    with tempfile.TemporaryDirectory(prefix="sparring-many-", dir="/tmp") as folder:
        command = [sys.executable, "-m", "tests.cluster.many", folder, str(NODES)]
        with at_home():  # The tests' own cluster, where there is one, has put this thread into its head's network.
            done = subprocess.run(command, capture_output=True, text=True, timeout=800, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["size"] > 8e6
    shares = [came / told["size"] for came in told["received"]]
    print(f"{told['size'] / 1e6:.1f} MB came {[round(share, 2) for share in shares]} times")  # noqa: T201  # pytest -s
    assert sum(count >= 2 for count in told["replicas"]) >= NODES // 2, told
    for count, share in zip(told["replicas"], shares, strict=True):
        assert share < 1.5, told
        assert not count or share > 0.9, told
