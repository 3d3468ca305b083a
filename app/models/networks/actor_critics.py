"""A policy with critics beside it, described by the config alone."""

import math
from typing import Any

import torch
from torch import Tensor, nn

from app.models.critics import action_kind
from app.models.distributions.squashed_gaussian import SquashedGaussian
from app.models.module import PolicyOutput
from app.models.networks.encoders import Encoder
from app.models.networks.mlp import Mlp
from app.models.networks.policy_config import CriticsConfig, PolicyConfig
from app.models.spec import ModelSpec


class ActorCritics(nn.Module):
    """A policy, critics with encoders of their own, and the temperature of SAC; see ``Criticised``."""

    def __init__(self, policy: nn.Module, spec: ModelSpec, config: PolicyConfig) -> None:
        """Makes the layers.

        Raises:
          ValueError: Actions are of a kind that critics do not value, or the policy has a memory.
        """
        super().__init__()
        if config.critics is None or len(spec.states):
            raise ValueError("critics value the actions of single ticks; allowed beside them is no memory")
        if config.normalise:
            raise ValueError(
                "normalise is true; allowed beside critics is false, for they see observations as they are"
            )
        if config.popart is not None:
            raise ValueError("popart is for values that are learned from trajectories; allowed beside critics is null")
        if action_kind(spec) is None:
            raise ValueError("critics value one choice, or real numbers with bounds; got another action")
        self.spec = spec
        self.policy = policy
        self.critics = Critics(spec, config, config.critics)
        self.log_temperature = nn.Parameter(torch.zeros(()))

    def forward(self, observation: Any, action: Any = None, *, criticise: bool = False) -> PolicyOutput | Tensor:
        """Returns what to do about one tick of each game, or what the critics think of actions.

        Args:
          observation: Nested like the spec's, each leaf [B, …].
          action: Nested like the spec's, each leaf [B, …], to be valued; None values all choices.
          criticise: Whether the critics are asked, [critics, B] or [critics, B, choices].
        """
        if criticise:
            values: Tensor = self.critics(observation, action)
            return values
        output: PolicyOutput = self.policy(observation)
        return output


class Critics(nn.Module):
    """Values of actions by several networks."""

    def __init__(self, spec: ModelSpec, config: PolicyConfig, critics: CriticsConfig) -> None:
        super().__init__()
        self._spec = spec
        self._kind = action_kind(spec)
        encoders = [Encoder(config.encoder, spec.inputs) for _ in range(critics.count)]
        self.encoders = nn.ModuleList(encoders)
        features = encoders[0].outputs
        numbers = sum(math.prod(leaf.shape) for leaf in spec.actions.leaves) if self._kind == "numbers" else 0
        outputs = 1 if self._kind == "numbers" else spec.actions.leaves[0].choices
        trunks = [Mlp(features + numbers, critics.hidden, "relu", is_orthogonal=False) for _ in range(critics.count)]
        self.trunks = nn.ModuleList(trunks)
        self.heads = nn.ModuleList(nn.Linear(trunk.outputs, outputs) for trunk in trunks)

    def forward(self, observation: Any, action: Any) -> Tensor:
        """Returns values by each critic, [critics, B] of these actions, or [critics, B, A] of all choices."""
        leaves = self._spec.inputs.flatten(observation)
        numbers = self._numbers(action) if self._kind == "numbers" else []
        values = []
        for encoder, trunk, head in zip(self.encoders, self.trunks, self.heads, strict=True):
            features = torch.cat([encoder(leaves).features, *numbers], -1)
            values.append(head(trunk(features)))
        stacked = torch.stack(values)
        return stacked.squeeze(-1) if self._kind == "numbers" else stacked

    def _numbers(self, action: Any) -> list[Tensor]:
        """Returns the leaves of an action, flat and each within [-1, 1]."""
        scaled = []
        for leaf, given in zip(self._spec.actions.leaves, self._spec.actions.flatten(action), strict=True):
            if not isinstance(leaf, SquashedGaussian):
                raise TypeError(f"critics value bounded numbers, got {leaf}")
            low, high = leaf.bounds(given)
            scaled.append(((given - low) / (high - low) * 2 - 1).reshape(len(given), -1))
        return scaled
