"""What a cluster of several machines asks of a config, and of the machines."""

import logging
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, cast

import ray
from ray.exceptions import RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from app.config.access import is_loopback
from app.config.root import ExperimentConfig
from app.errors import ConfigError
from app.home import HOME_VARIABLE, ensure

LOOK_S: Final = 30.0
"""Longest wait for one machine's look at a folder."""

_log = logging.getLogger(__name__)


def machines() -> dict[str, str]:
    """Returns the id of a live node on each machine that can run something, by the machine's address."""
    nodes = cast("list[dict[str, Any]]", ray.nodes())  # type: ignore[no-untyped-call]
    return {node["NodeManagerAddress"]: node["NodeID"] for node in nodes if node["Alive"] and node["Resources"]}


def refuse_loopback(config: ExperimentConfig, addresses: Sequence[str]) -> None:
    """Raises where replicas on several machines would listen where only their own machine reaches them.

    Args:
      config: Checked config.
      addresses: Of the cluster's machines.

    Raises:
      ConfigError: There are several, and an actor's host is a loopback address.
    """
    if len(addresses) < 2:  # noqa: PLR2004  # One machine.
        return
    for name, actor in config.actors.items():
        if is_loopback(actor.host):
            raise ConfigError(
                f"actors.{name}.host is {actor.host!r}, which only its own machine reaches, and the cluster has "
                f"{len(addresses)}: {', '.join(sorted(addresses))}; allowed is 0.0.0.0, with keys under "
                f"actors.{name}.access or access.allow_open: true"
            )


def tell_unshared(folder: Path, nodes: dict[str, str]) -> list[str]:
    """Returns the machines on which a folder is not the one that is seen here, and warns of them.

    Args:
      folder: Of the project.
      nodes: A node of each machine, by address.
    """
    mark = ensure(folder) / f".seen-{secrets.token_hex(8)}"
    mark.touch()
    try:
        looks = {
            address: _exists.options(scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False)).remote(mark)
            for address, node in nodes.items()
        }
        unshared = [address for address, look in looks.items() if not _seen(look)]
    finally:
        mark.unlink()
    if unshared:
        _log.warning(
            "the folder %s is not on %s: what is written there (recordings, checkpoints, snapshots of stores that "
            "restart there) is not seen by other machines; mount one folder on all and set %s to it",
            folder,
            ", ".join(sorted(unshared)),
            HOME_VARIABLE,
        )
    return unshared


def _seen(look: "ray.ObjectRef[bool]") -> bool:
    try:
        return bool(ray.get(look, timeout=LOOK_S))
    except RayError:
        return False


@ray.remote(num_cpus=0, max_retries=0)
def _exists(path: Path) -> bool:
    return path.exists()
