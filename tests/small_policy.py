"""Networks small enough to follow by hand."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from app.models.distributions.categorical import Categorical
from app.models.distributions.gaussian import Gaussian
from app.models.module import PolicyOutput
from app.models.spec import ArraySpec, ModelSpec


def discrete(shape: tuple[int, ...], actions: int, dtype: str = "float32") -> ModelSpec:
    """Returns the spec of a policy with one observation and one choice."""
    return ModelSpec(ArraySpec(shape, dtype), Categorical(actions))


class SmallPolicy(nn.Module):
    """A linear actor and a linear critic."""

    def __init__(self, inputs: int = 2, actions: int = 2) -> None:
        super().__init__()
        self.spec = discrete((inputs,), actions)
        self.policy = nn.Linear(inputs, actions)
        self.critic = nn.Linear(inputs, 1)

    def forward(self, observation: Tensor) -> PolicyOutput:
        return PolicyOutput(self.policy(observation), self.critic(observation).squeeze(-1))


class TablePolicy(nn.Module):
    """Answers every observation with the same logits, and with its first number as the value."""

    def __init__(self, logits: Sequence[float], inputs: int = 2) -> None:
        super().__init__()
        self.spec = discrete((inputs,), len(logits))
        self.logits = nn.Parameter(torch.tensor(logits))

    def forward(self, observation: Tensor) -> PolicyOutput:
        return PolicyOutput(self.logits.expand(len(observation), -1), observation[:, 0])


def small_policy(seed: int = 0, inputs: int = 2, actions: int = 2) -> SmallPolicy:
    """Returns a small policy whose parameters follow from the seed."""
    torch.manual_seed(seed)
    return SmallPolicy(inputs, actions)


def broken_factory() -> nn.Module:
    """Returns a module without a spec."""
    return nn.Linear(1, 1)


class Scorer(nn.Module):
    """Scores observations; no policy."""

    def __init__(self) -> None:
        super().__init__()
        self.spec = ModelSpec(ArraySpec((2,)), outputs=ArraySpec(()))
        self.score = nn.Linear(2, 1)

    def forward(self, observation: Tensor) -> Tensor:
        scores: Tensor = self.score(observation).squeeze(-1)
        return scores


class Adder(nn.Module):
    """Carries the sum of all that it has seen, and values each tick by the sum before it."""

    def __init__(self) -> None:
        super().__init__()
        self.spec = ModelSpec(
            {"step": ArraySpec((1,)), "seen": (ArraySpec((2,), "uint8"), ArraySpec(()))},
            {"go": Gaussian((2,)), "pick": (Categorical(3), Categorical(2))},
            state={"sum": ArraySpec((1,)), "ticks": (ArraySpec((), "int64"),)},
        )
        self.bias = nn.Parameter(torch.zeros(3))

    def forward(self, observation: Any, state: Any) -> PolicyOutput:
        total, (ticks,) = state["sum"], state["ticks"]
        rows = len(total)
        pick = (self.bias.expand(rows, 3), self.bias[:2].expand(rows, 2))
        go = torch.cat([total.expand(rows, 2), torch.zeros(rows, 2)], dim=1)
        following = {"sum": total + observation["step"], "ticks": (ticks + 1,)}
        return PolicyOutput({"go": go, "pick": pick}, total[:, 0], following)
