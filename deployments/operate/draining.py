"""Drains one node of the cluster: its replicas move elsewhere with their games, before the machine goes."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import ray
from ray.core.generated.autoscaler_pb2 import DrainNodeReason  # type: ignore[attr-defined]
from ray.serve.context import _get_global_client
from ray.serve.schema import ServeInstanceDetails

from app.errors import SparringError

LOOK_S: Final = 0.2
"""Seconds between two looks at what is still on the node."""


class DrainError(SparringError):
    """A node cannot be drained, or something on it did not move in time."""


@dataclass(frozen=True, slots=True)
class Node:
    """A living node of the cluster."""

    id: str
    address: str


def node_at(address: str | None, own: str, nodes: Sequence[Node]) -> Node:
    """Returns the node that is meant.

    Args:
      address: Its IP address, or None for the one with the id ``own``.
      own: Id of the node that this process is on.
      nodes: Living nodes.

    Raises:
      DrainError: There is none of that address, or several.
    """
    found = [node for node in nodes if (node.id == own if address is None else node.address == address)]
    if len(found) == 1:
        return found[0]
    allowed = ", ".join(sorted(node.address for node in nodes)) or "none"
    what = "this machine" if address is None else f"--node {address}"
    raise DrainError(f"{what} is {len(found)} nodes of the cluster, allowed: one of {allowed}")


def living_nodes(listed: Iterable[Mapping[str, Any]]) -> list[Node]:
    """Returns the living ones of what ``ray.nodes()`` lists."""
    return [Node(str(one["NodeID"]), str(one["NodeManagerAddress"])) for one in listed if one["Alive"]]


def drain(address: str | None, timeout_s: float) -> tuple[Node, int]:
    """Lets nothing more start on a node and returns it, with the number of replicas that have left it.

    Serve starts another replica for each before the old one ends and hands its games over, where there is room.

    Args:
      address: IP address of the node; None for this machine.
      timeout_s: Longest wait.

    Raises:
      DrainError: There is no such node, the cluster refuses, or a replica is still there after ``timeout_s``.
    """
    context = ray.get_runtime_context()
    node = node_at(address, context.get_node_id(), living_nodes(ray.nodes()))  # type: ignore[no-untyped-call]
    _mark(node, str(context.gcs_address), timeout_s)
    before = replicas_on(node.id, _details())
    wait_until_left(node, timeout_s, lambda: replicas_on(node.id, _details()))
    return node, len(before)


def wait_until_left(node: Node, timeout_s: float, look: Callable[[], Sequence[str]]) -> None:
    """Returns once no replica is left on a node.

    Raises:
      DrainError: Some are after ``timeout_s``.
    """
    end_s = time.monotonic() + timeout_s
    while left := look():
        if time.monotonic() > end_s:
            raise DrainError(
                f"on node {node.address} there still are {', '.join(left)} after {timeout_s:g} s; is there room for "
                "them on another node? `sparring check --cpus` adds up what is needed"
            )
        time.sleep(LOOK_S)


def replicas_on(node_id: str, details: ServeInstanceDetails | None) -> list[str]:
    """Returns the names of Serve's replicas on a node; none where Serve does not run."""
    if details is None:
        return []
    deployments = (d for application in details.applications.values() for d in application.deployments.values())
    replicas = ((deployment.name, replica) for deployment in deployments for replica in deployment.replicas)
    return [f"{name} {replica.replica_id}" for name, replica in replicas if replica.node_id == node_id]


def _details() -> ServeInstanceDetails | None:
    client = _get_global_client(raise_if_no_controller_running=False)
    return None if client is None else ServeInstanceDetails(**client.get_serve_details())


def _mark(node: Node, gcs_address: str, timeout_s: float) -> None:
    """Tells the cluster that a node goes away."""
    deadline_ms = int((time.time() + timeout_s) * 1000)
    client = ray._raylet.GcsClient(address=gcs_address)  # type: ignore[attr-defined]
    reason = DrainNodeReason.Value("DRAIN_NODE_REASON_PREEMPTION")  # The only one that is not refused while it works.
    accepted, refusal = client.drain_node(node.id, reason, "sparring drain", deadline_ms)
    if not accepted:
        raise DrainError(f"the cluster does not let node {node.address} go: {refusal}")
