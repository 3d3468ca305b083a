"""Reaches a running Ray cluster, for as long as one command runs."""

import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import ray
from ray.exceptions import RayError

from app.errors import SparringError, first_line
from app.stores.refusal import refusal

PROBE_S: Final = 3.0
"""Longest wait for the address of a cluster to accept a connection; Ray itself would try for a minute."""
HOW: Final = (
    "start one with 'ray start --head' or 'serve run serve_config.yaml', or name a running one in RAY_ADDRESS=host:port"
)


class NoClusterError(SparringError):
    """No Ray cluster can be reached."""


@contextmanager
def cluster() -> Iterator[str]:
    """Connects to the running cluster for the block, and gives its address.

    Raises:
      NoClusterError: None runs, or it does not let us in.
    """
    if ray.is_initialized():  # Somebody else's connection, who ends it.
        yield _address()
        return
    wanted = os.environ.get("RAY_ADDRESS") or "auto"
    _refuse_unreachable(wanted)
    try:
        ray.init(address=wanted, namespace="sparring", log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, RuntimeError, ValueError, RayError) as error:
        refused = refusal(error)
        if refused is not None:
            raise NoClusterError(refused) from error
        reason = first_line(error)
        raise NoClusterError(f"no Ray cluster can be reached: {reason}; {HOW}") from error
    try:
        yield _address()
    finally:
        ray.shutdown()


def _address() -> str:
    return str(ray.get_runtime_context().gcs_address)


def _refuse_unreachable(address: str) -> None:
    """Does nothing for an address that accepts connections, or that only Ray can look up."""
    host, colon, port = address.rpartition("://")[2].rpartition(":")
    if not (colon and port.isdecimal()):
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), PROBE_S).close()
    except OSError as error:
        raise NoClusterError(f"no Ray cluster answers at {address}: {error}; {HOW}") from error
