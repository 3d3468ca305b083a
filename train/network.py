"""Lets learner workers on several nodes find each other at the addresses by which Ray knows their nodes."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, Final

import psutil
from ray.train.torch import TorchConfig
from ray.train.torch.config import _TorchBackend
from ray.util import get_node_ip_address

GLOO_INTERFACE: Final = "GLOO_SOCKET_IFNAME"
"""Which network Gloo uses; without it, the one that the machine's own name leads to."""


class NodeNetwork(TorchConfig):
    """Ray's settings of the process group, which is made over the network that each node has joined Ray by.

    Many machines resolve their own name to a loopback address, which no other machine reaches: workers would wait for
    each other for as long as the group's time-out.
    """

    @property
    def backend_cls(self) -> type[_TorchBackend]:
        """What Ray Train starts."""
        return _NodeNetworkBackend


class _NodeNetworkBackend(_TorchBackend):
    def on_start(self, worker_group: Any, backend_config: Any) -> None:
        worker_group.execute(use_network_of_node)
        super().on_start(worker_group, backend_config)


def use_network_of_node() -> None:
    """Has this process's Gloo use the network of its node; what the environment says already stays."""
    name = interface_of(str(get_node_ip_address()), psutil.net_if_addrs())  # type: ignore[no-untyped-call]
    if name is not None:
        os.environ.setdefault(GLOO_INTERFACE, name)


def interface_of(address: str, interfaces: Mapping[str, Sequence[Any]]) -> str | None:
    """Returns the name of the interface that has an address; None where none has it.

    Args:
      address: Of a node.
      interfaces: Addresses by interface, as psutil tells them.
    """
    return next((name for name, held in interfaces.items() if any(one.address == address for one in held)), None)
