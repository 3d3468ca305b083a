"""The network: any torch module that tells its shapes by ``spec``."""

from app.models.distributions.categorical import Categorical
from app.models.module import PolicyOutput
from app.models.spec import ArraySpec, ModelSpec
from torch import Tensor, nn


class Network(nn.Module):
    """Maps observations, [B, inputs], to logits of the three actions and the expected return."""

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.spec = ModelSpec(ArraySpec((inputs,)), Categorical(3))
        self.features = nn.Sequential(nn.Linear(inputs, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh())
        self.policy, self.value = nn.Linear(hidden, 3), nn.Linear(hidden, 1)

    def forward(self, observation: Tensor) -> PolicyOutput:
        """Returns logits, [B, 3], and value, [B]."""
        features = self.features(observation)
        return PolicyOutput(self.policy(features), self.value(features).squeeze(-1))


def build(inputs: int = 3, hidden: int = 64) -> Network:
    """Returns an untrained network."""
    return Network(inputs, hidden)
