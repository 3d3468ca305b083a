"""A network that values actions, described by the config alone."""

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from app.models.distributions.categorical import Categorical
from app.models.distributions.epsilon_greedy import EpsilonGreedy
from app.models.module import PolicyOutput
from app.models.networks.described import ActionLeaf
from app.models.networks.encoders import Encoder
from app.models.networks.noisy import NoisyLinear
from app.models.networks.normaliser import Normaliser
from app.models.networks.policy_config import CategoricalReturns, PolicyConfig, QConfig, QuantileReturns
from app.models.spec import ArraySpec, ModelSpec
from app.nested import Nested, Structure

if TYPE_CHECKING:
    from app.models.action_values import Returns


class QNetwork(nn.Module):
    """Encoder and a head for the returns of all actions; dueling, noisy and distributional where the config says so."""

    def __init__(self, observation: Nested[ArraySpec], action: Nested[ActionLeaf], config: PolicyConfig) -> None:
        """Makes the layers.

        Raises:
          ValueError: Action and config do not fit Q-learning, or encoder and observation each other.
        """
        super().__init__()
        q = config.q
        leaves: Structure[ActionLeaf] = Structure(action)
        if q is None or config.memory is not None or config.critics is not None:
            raise ValueError("q values the actions of single ticks; allowed beside it are neither memory nor critics")
        if config.popart is not None:
            raise ValueError("popart is for the value of a policy; allowed beside q is null")
        if len(leaves) != 1 or leaves.leaves[0].points_at or not isinstance(leaves.leaves[0].distribution, Categorical):
            raise ValueError("q values the choices of one action; allowed is an action {choices: n}")
        choices = leaves.leaves[0].distribution.choices
        self.spec = ModelSpec(observation, leaves.unflatten([EpsilonGreedy(choices, q.ladder)]))
        self.normaliser = Normaliser(Structure(observation)) if config.normalise else None
        self.encoder = Encoder(config.encoder, Structure(observation))
        self.returns: Returns = "expected" if q.returns is None else q.returns.kind
        self.support: Tensor
        self.epsilon: Tensor
        self.register_buffer("support", _support(q.returns))
        self.register_buffer("epsilon", torch.ones(1))
        self._choices = choices
        self._atoms = len(self.support)
        self.advantage = _layers(self.encoder.outputs, q, choices * self._atoms)
        self.value = _layers(self.encoder.outputs, q, self._atoms) if q.dueling else None

    def forward(self, observation: Any, *, returns: bool = False) -> PolicyOutput | Tensor:
        """Returns what to do about one tick of each game, or the returns of all actions.

        Args:
          observation: Nested like the spec's, each leaf [B, …].
          returns: Whether the returns are wanted, [B, A, atoms].
        """
        leaves = self.spec.inputs.flatten(observation)
        features = self.encoder(leaves if self.normaliser is None else self.normaliser(leaves)).features
        found: Tensor = self.advantage(features).reshape(-1, self._choices, self._atoms)
        if self.value is not None:
            found = self.value(features)[:, None] + found - found.mean(1, keepdim=True)
        if returns:
            return found
        values = self.expected(found)
        chance = self.epsilon.to(values.dtype).expand(values.shape[0], 1)
        inputs = self.spec.actions.unflatten([torch.cat([values, chance], -1)])
        return PolicyOutput(inputs, values.max(-1).values)

    def expected(self, returns: Tensor) -> Tensor:
        """Returns the values, [B, A], of returns [B, A, atoms]."""
        return returns.softmax(-1) @ self.support if self.returns == "categorical" else returns.mean(-1)

    def draw_noise(self, generator: torch.Generator) -> None:
        """Draws the noise of noisy layers anew; does nothing where there are none."""
        for layer in self.modules():
            if isinstance(layer, NoisyLinear):
                layer.draw(generator)


def _layers(features: int, q: QConfig, outputs: int) -> nn.Sequential:
    made: list[nn.Module] = []
    for units in q.hidden:
        made += [_layer(features, units, q), nn.ReLU()]
        features = units
    return nn.Sequential(*made, _layer(features, outputs, q))


def _layer(inputs: int, outputs: int, q: QConfig) -> nn.Module:
    return NoisyLinear(inputs, outputs) if q.noisy else nn.Linear(inputs, outputs)


def _support(returns: CategoricalReturns | QuantileReturns | None) -> Tensor:
    if isinstance(returns, CategoricalReturns):
        return torch.linspace(returns.low, returns.high, returns.atoms)
    return torch.zeros(1 if returns is None else returns.atoms)
