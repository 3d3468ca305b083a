"""Settings of Ray that are made in the environment of its processes."""

import os
from typing import Final

WORKER_ENV: Final = {
    # A block that comes alone would wait for 100 ms in Ray Data's executor; it reads this at import.
    "RAY_DATA_METADATA_PREFETCH_ON_THREAD": "0",
    "OMP_NUM_THREADS": "1",
}
"""What a learner's processes need."""
CLUSTER_ENV: Final = {
    # Ray's default is 15: a tick would wait for whatever else the machine does.
    "RAY_worker_niceness": "0",
}
"""What a cluster reads when it starts."""


def set_env() -> None:
    """Gives this process the settings, and so the cluster that it starts; what is set already stays."""
    for name, value in (WORKER_ENV | CLUSTER_ENV).items():
        os.environ.setdefault(name, value)


def missing_env() -> dict[str, str]:
    """Returns what the cluster's processes lack; a worker process of its own must be given it.

    A cluster that this process started has inherited what this process has.
    """
    return {name: value for name, value in WORKER_ENV.items() if os.environ.get(name) != value}


def spare_watcher() -> None:
    """Keeps Ray Train from watching for the preemption of nodes where there is one node: it would go with it."""
    import ray  # noqa: PLC0415  # ``set_env`` comes before it is imported.

    if len(ray.nodes()) == 1:  # type: ignore[no-untyped-call]
        os.environ.setdefault("RAY_TRAIN_ENABLE_PREEMPTION_WATCHER", "0")
