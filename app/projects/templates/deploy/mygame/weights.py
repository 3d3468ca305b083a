"""Weights from elsewhere, where a config finds them by name: ``python -m mygame.weights handmade``.

These are worked out by hand: the basket goes to the apple. Yours come from a training of your own, in any framework.
"""

import sys

import torch
from app.home import state_root
from app.models.module import hash_of, to_arrays
from app.models.saved import SavedModel, write_model

from mygame.model import Network, build


def handmade() -> Network:
    """Returns a network whose first feature is which way the apple lies, from -1 to 1."""
    network = build()
    first, second = network.features[0], network.features[2]
    with torch.no_grad():
        for layer in (first, second, network.policy):
            layer.weight.zero_()
            layer.bias.zero_()
        first.weight[0] = torch.tensor([-9.0, 9.0, 0.0])
        second.weight[0, 0] = 3.0
        network.policy.weight[:, 0] = torch.tensor([-20.0, 0.0, 20.0])
        network.policy.bias[1] = 10.0
    return network


def write(name: str) -> None:
    """Writes them below the project's folder in ``SPARRING_HOME``."""
    network, folder = handmade(), state_root("mygame") / name
    folder.mkdir(parents=True, exist_ok=True)
    write_model(folder, SavedModel("mygame.model:build", {}, hash_of(network), "1.0", to_arrays(network)))


if __name__ == "__main__":
    write(sys.argv[1])
