"""``sparring drain``: what a machine does before it goes."""

import json
import sys
from typing import Annotated

import typer

from deployments.operate.cluster import cluster
from deployments.operate.draining import drain as drain_node


def drain(
    node: Annotated[str | None, typer.Option(help="IP address of the node; default: this machine.")] = None,
    timeout_s: Annotated[float, typer.Option(help="Longest wait, in seconds.", min=1)] = 60.0,
    json_: Annotated[bool, typer.Option("--json", help="Prints JSON.")] = False,
) -> None:
    """Moves the replicas of one node elsewhere, with their games; the node then takes nothing more.

    Raises:
      SparringError: No Ray cluster can be reached, there is no such node, or a replica is still on it in the end.
    """
    with cluster():
        found, count = drain_node(node, timeout_s)
    if json_:
        sys.stdout.write(json.dumps({"node": found.address, "id": found.id, "replicas": count}) + "\n")
    else:
        sys.stdout.write(f"drained {found.address}: {count} replicas have left it\n")
