"""A small actor-critic for CartPole: two separate networks, orthogonal initialisation."""

import math

from torch import Tensor, nn

from app.models.distributions.categorical import Categorical
from app.models.module import PolicyOutput
from app.models.spec import ArraySpec, ModelSpec


class CartPolePolicy(nn.Module):
    """Maps cart position, cart speed, pole angle and pole speed, [B, 4], to push-left and push-right logits."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.spec = ModelSpec(ArraySpec((4,)), Categorical(2))
        self.policy = _mlp(4, hidden, 2, gain=0.01)
        self.critic = _mlp(4, hidden, 1, gain=1.0)

    def forward(self, observation: Tensor) -> PolicyOutput:
        """Returns logits and value."""
        return PolicyOutput(self.policy(observation), self.critic(observation).squeeze(-1))


def build(hidden: int = 64) -> CartPolePolicy:
    """Returns an untrained policy.

    Args:
      hidden: Units of each hidden layer.
    """
    return CartPolePolicy(hidden)


def _mlp(inputs: int, hidden: int, outputs: int, gain: float) -> nn.Sequential:
    layers = [nn.Linear(inputs, hidden), nn.Linear(hidden, hidden), nn.Linear(hidden, outputs)]
    for layer, layer_gain in zip(layers, (math.sqrt(2), math.sqrt(2), gain), strict=True):
        nn.init.orthogonal_(layer.weight, layer_gain)
        nn.init.zeros_(layer.bias)
    return nn.Sequential(layers[0], nn.Tanh(), layers[1], nn.Tanh(), layers[2])
