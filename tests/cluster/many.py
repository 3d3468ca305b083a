"""Weights on many nodes: ``python -m tests.cluster.many FOLDER NODES`` prints what came to each machine as JSON.

A process of its own, since the other tests' is with Ray on two nodes.
"""

import json
import sys
from pathlib import Path

from .environment import environment

HIDDEN = 1024
"""Units of the layers: weights of 8 MB and more, beside which what Ray's nodes say to each other is little."""
REPLICAS = 2
"""Of each node: the second takes from its node what the first has fetched."""
STARTED_S = 240.0


def received(folder: Path, count: int) -> dict[str, object]:
    """Returns the size of weights, and the bytes and replicas of each machine, while all replicas take them.

    The head is left out: the weights' trainer and store are on it.
    """
    from app.models.module import to_arrays  # noqa: PLC0415
    from tests.ring.service import wait_until  # noqa: PLC0415

    from .nodes import Nodes, SpreadService, ray_on  # noqa: PLC0415  # Ray is imported behind the environment.

    with ray_on(folder, "head", *(f"n{number}" for number in range(1, count))) as (made, cluster):
        head, *others = made
        wide = (f"models.main.kwargs.hidden={HIDDEN}", f"actors.main.replicas={REPLICAS * count}")
        with SpreadService(Nodes(head, others[0], cluster), "many", *wide) as service:
            wait_until(lambda: len(service.versions()) == REPLICAS * count, "all replicas have told", STARTED_S)
            size = sum(array.nbytes for array in to_arrays(service.module(3)).values())
            before = [machine.received_bytes() for machine in others]
            version = str(service.send(3))
            wait_until(lambda: service.plays(version), "all play it", STARTED_S)
            came = [machine.received_bytes() - was for machine, was in zip(others, before, strict=True)]
            hosts = [host for host, _ in service.versions()]
            return {"size": size, "received": came, "replicas": [hosts.count(machine.address) for machine in others]}


if __name__ == "__main__":
    where = Path(sys.argv[1])
    with environment(where):
        sys.stdout.write(json.dumps(received(where, int(sys.argv[2]))) + "\n")
