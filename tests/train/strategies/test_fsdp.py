"""Which parts of a network are put together on their own."""

from torch import nn

from train.strategies.fsdp import parts


def test_inner_parts_come_before_those_around_them() -> None:
    network = nn.Sequential(nn.Sequential(nn.Linear(1, 1), nn.Tanh()), nn.Linear(1, 1))
    assert parts(network, ("0", "0.*")) == [network[0][1], network[0][0], network[0]]
    assert parts(network, ()) == []
