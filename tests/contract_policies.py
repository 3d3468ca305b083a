"""Networks of each kind of shape that a model may have, for tests that run over all of them."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from app.models.distributions.categorical import Categorical
from app.models.module import PolicyOutput
from app.models.spec import ArraySpec, ModelSpec
from tests.small_policy import small_policy


class NestedPolicy(nn.Module):
    """Sees a map of bytes and two units; moves and aims."""

    def __init__(self) -> None:
        super().__init__()
        self.spec = ModelSpec(
            {"map": ArraySpec((2, 3), "uint8"), "units": (ArraySpec((4,)), ArraySpec(()))},
            {"aim": (Categorical(2), Categorical(4)), "move": Categorical(3)},
        )
        self.body = nn.Linear(6 + 4 + 1, 8)
        self.heads = nn.Linear(8, 2 + 4 + 3 + 1)

    def forward(self, observation: dict[str, Any]) -> PolicyOutput:
        unit, distance = observation["units"]
        seen = torch.cat([observation["map"].flatten(1) / 255, unit, distance[:, None]], dim=1)
        first, second, move, value = self.heads(torch.tanh(self.body(seen))).split([2, 4, 3, 1], dim=1)
        return PolicyOutput({"aim": (first, second), "move": move}, value.squeeze(-1))


class RecurrentPolicy(nn.Module):
    """Remembers: its state is a pair, one of them a count of ticks."""

    def __init__(self) -> None:
        super().__init__()
        self.spec = ModelSpec(ArraySpec((3,)), Categorical(4), {"h": ArraySpec((5,)), "ticks": ArraySpec((), "int64")})
        self.cell = nn.GRUCell(3, 5)
        self.policy = nn.Linear(5, 4)
        self.critic = nn.Linear(5, 1)

    def forward(self, observation: Tensor, state: dict[str, Tensor]) -> PolicyOutput:
        hidden = self.cell(observation, state["h"])
        ticks = state["ticks"] + 1
        value = self.critic(hidden).squeeze(-1) + ticks
        return PolicyOutput(self.policy(hidden), value, {"h": hidden, "ticks": ticks})


def nested(seed: int) -> NestedPolicy:
    """Returns a nested policy whose parameters follow from the seed."""
    torch.manual_seed(seed)
    return NestedPolicy()


def recurrent(seed: int) -> RecurrentPolicy:
    """Returns a recurrent policy whose parameters follow from the seed."""
    torch.manual_seed(seed)
    return RecurrentPolicy()


KINDS: dict[str, Callable[[int], nn.Module]] = {
    "flat": lambda seed: small_policy(seed, inputs=3, actions=5),
    "nested": nested,
    "recurrent": recurrent,
}
