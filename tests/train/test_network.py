"""Gloo uses the network by which a node has joined Ray."""

import os
from typing import NamedTuple

import pytest

from train.network import GLOO_INTERFACE, interface_of, use_network_of_node


class Held(NamedTuple):
    address: str


INTERFACES = {
    "lo": [Held("127.0.0.1"), Held("::1")],
    "eth0": [Held("10.0.0.7"), Held("fe80::1%eth0")],
    "eth1": [Held("192.168.0.7")],
}


@pytest.mark.parametrize(
    ("address", "name"), [("10.0.0.7", "eth0"), ("192.168.0.7", "eth1"), ("127.0.0.1", "lo"), ("10.0.0.8", None)]
)
def test_the_interface_of_an_address_is_found(address: str, name: str | None) -> None:
    assert interface_of(address, INTERFACES) == name


def test_what_the_environment_says_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("train.network.psutil.net_if_addrs", lambda: INTERFACES)
    monkeypatch.setattr("train.network.get_node_ip_address", lambda: "10.0.0.7")
    monkeypatch.setenv(GLOO_INTERFACE, "eth1")
    use_network_of_node()
    assert os.environ[GLOO_INTERFACE] == "eth1"
    monkeypatch.delenv(GLOO_INTERFACE)
    use_network_of_node()
    assert os.environ[GLOO_INTERFACE] == "eth0"
    monkeypatch.delenv(GLOO_INTERFACE)
