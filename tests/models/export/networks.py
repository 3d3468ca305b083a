"""Networks of each kind that is exported."""

from typing import Any

import torch
from torch import Tensor, nn

from app.models.distributions.categorical import Categorical
from app.models.module import PolicyOutput
from app.models.spec import ArraySpec, ModelSpec
from tests.small_policy import discrete


class NestedPolicy(nn.Module):
    """Takes a dict with a tuple in it, does two things at once and carries a state of two leaves."""

    def __init__(self) -> None:
        super().__init__()
        observation = {"board": ArraySpec((2, 3)), "units": (ArraySpec((2,), "int64"), ArraySpec((3,), "bool"))}
        action = {"move": Categorical(3), "skill": Categorical(2)}
        self.spec = ModelSpec(observation, action, {"hidden": ArraySpec((4,)), "ticks": ArraySpec(())})
        self.kinds = nn.Embedding(2, 4)
        self.body = nn.Linear(6 + 8 + 3, 4)
        self.cell = nn.GRUCell(4, 4)
        self.move, self.skill, self.critic = nn.Linear(4, 3), nn.Linear(4, 2), nn.Linear(4, 1)

    def forward(self, observation: Any, state: Any) -> PolicyOutput:
        kinds, flags = observation["units"]
        seen = torch.cat([observation["board"].flatten(1), self.kinds(kinds).flatten(1), flags.float()], dim=1)
        hidden = self.cell(torch.relu(self.body(seen)), state["hidden"])
        following = {"hidden": hidden, "ticks": state["ticks"] + 1}
        inputs = {"move": self.move(hidden), "skill": self.skill(hidden)}
        return PolicyOutput(inputs, self.critic(hidden).squeeze(-1), following)


class NormPolicy(nn.Module):
    """Normalises what it sees by statistics of its own, and drops half of it out while it learns."""

    def __init__(self) -> None:
        super().__init__()
        self.spec = discrete((3,), 2)
        self.norm, self.dropout, self.head = nn.BatchNorm1d(3), nn.Dropout(), nn.Linear(3, 3)

    def forward(self, observation: Tensor) -> PolicyOutput:
        out = self.head(self.dropout(self.norm(observation)))
        return PolicyOutput(out[:, :2], out[:, 2])


class Estimator(nn.Module):
    """No policy: answers with two outputs."""

    def __init__(self) -> None:
        super().__init__()
        self.spec = ModelSpec(ArraySpec((3,)), outputs={"mean": ArraySpec(()), "map": ArraySpec((2, 2))})
        self.head = nn.Linear(3, 4)

    def forward(self, observation: Tensor) -> dict[str, Tensor]:
        out = self.head(observation)
        return {"mean": out.mean(1), "map": out.reshape(-1, 2, 2)}


class FrozenPolicy(nn.Module):
    """Answers with as many rows as it was once made for."""

    def __init__(self) -> None:
        super().__init__()
        self.spec = discrete((3,), 2)
        self.head = nn.Linear(3, 3)

    def forward(self, observation: Tensor) -> PolicyOutput:
        out = self.head(observation.reshape(2, 3))
        return PolicyOutput(out[:, :2], out[:, 2])


class CountingPolicy(nn.Module):
    """Scales its answer by the size of the batch, read as a plain number."""

    def __init__(self) -> None:
        super().__init__()
        self.spec = discrete((3,), 2)
        self.head = nn.Linear(3, 3)

    def forward(self, observation: Tensor) -> PolicyOutput:
        out = self.head(observation).reshape(int(observation.shape[0]), 3) + torch.zeros(1) * float(len(observation))
        rows = [row for row in out]  # noqa: C416  # A loop over the rows fixes their number.
        whole = torch.stack(rows)
        return PolicyOutput(whole[:, :2], whole[:, 2])


class HiddenPolicy(nn.Module):
    """Uses its weights through a list in which torch does not look for them, as Keras does."""

    def __init__(self) -> None:
        super().__init__()
        self.spec = discrete((3,), 2)
        self.weight, self.bias = nn.Parameter(torch.randn(3, 3)), nn.Parameter(torch.zeros(3))
        self._used = [self.weight, self.bias]

    def forward(self, observation: Tensor) -> PolicyOutput:
        weight, bias = self._used
        out = observation @ weight + bias
        return PolicyOutput(out[:, :2], out[:, 2])


def seeded(network: type[nn.Module], seed: int = 0) -> nn.Module:
    """Returns a network whose parameters follow from the seed."""
    torch.manual_seed(seed)
    return network()
