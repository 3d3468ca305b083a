"""The weights that are served."""

import torch

from mygame.agent import follow
from mygame.game import Apples
from mygame.weights import handmade


def test_they_follow_the_apple() -> None:
    game, network, over = Apples(), handmade(), False
    seen, _ = game.reset(seed=3)
    while not over:
        action = int(network(torch.tensor(seen)[None]).dist_inputs.argmax())
        assert action == follow(seen)
        seen, _, over, _, _ = game.step(action)
