"""The networks that ``inference`` asks: of the sizes that game AI plays with."""

import torch
from torch import Tensor, nn

from app.models.distributions.categorical import Categorical
from app.models.module import PolicyOutput
from app.models.spec import ArraySpec, ModelSpec

MLP_INPUTS = 128
MLP_ACTIONS = 16
CNN_FRAMES = (4, 84, 84)
CNN_ACTIONS = 6


class Mlp(nn.Module):
    """128 numbers, two layers of 64, 16 actions and a value."""

    def __init__(self) -> None:
        super().__init__()
        self.spec = ModelSpec(ArraySpec((MLP_INPUTS,)), Categorical(MLP_ACTIONS))
        self.body = nn.Sequential(nn.Linear(MLP_INPUTS, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.policy = nn.Linear(64, MLP_ACTIONS)
        self.critic = nn.Linear(64, 1)

    def forward(self, observation: Tensor) -> PolicyOutput:
        """Returns logits [B, 16] and values [B]."""
        hidden = self.body(observation)
        return PolicyOutput(self.policy(hidden), self.critic(hidden).squeeze(-1))


class Cnn(nn.Module):
    """Four frames of 84 by 84 bytes, three convolutions, 6 actions and a value."""

    def __init__(self) -> None:
        super().__init__()
        self.spec = ModelSpec(ArraySpec(CNN_FRAMES, "uint8"), Categorical(CNN_ACTIONS))
        self.body = nn.Sequential(
            nn.Conv2d(4, 32, 8, stride=4), nn.ReLU(),
            nn.Conv2d(32, 64, 4, stride=2), nn.ReLU(),
            nn.Conv2d(64, 64, 3, stride=1), nn.ReLU(),
            nn.Flatten(), nn.Linear(64 * 7 * 7, 512), nn.ReLU(),
        )  # fmt: skip
        self.policy = nn.Linear(512, CNN_ACTIONS)
        self.critic = nn.Linear(512, 1)

    def forward(self, observation: Tensor) -> PolicyOutput:
        """Returns logits [B, 6] and values [B]."""
        hidden = self.body(observation.to(torch.float32) / 255)
        return PolicyOutput(self.policy(hidden), self.critic(hidden).squeeze(-1))


def mlp() -> Mlp:
    """Returns the small network."""
    return Mlp()


def cnn() -> Cnn:
    """Returns the large one."""
    return Cnn()
