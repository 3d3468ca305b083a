"""A policy for games that need no network of their own: described by the config alone."""

from collections.abc import Sequence
from typing import Any, Final

from pydantic import ValidationError
from torch import Tensor, nn

from app.config.problems import config_error
from app.config.validation import schema_problems
from app.models.module import PolicyOutput
from app.models.networks.actor_critics import ActorCritics
from app.models.networks.described import ActionLeaf, ProblemsError, action_of, observation_of
from app.models.networks.encoders import Encoded, Encoder
from app.models.networks.heads import make_head
from app.models.networks.initial import orthogonal
from app.models.networks.memory import Gru, Lstm, Memory
from app.models.networks.normaliser import Normaliser
from app.models.networks.policy_config import MemoryConfig, PolicyConfig
from app.models.networks.q_network import QNetwork
from app.models.networks.scaled_value import ScaledValue
from app.models.spec import ArraySpec, ModelSpec
from app.nested import Nested, Structure

FACTORY: Final = "app.models.networks.policy:build"
"""Names this file in messages."""


class Policy(nn.Module):
    """Encoder, memory where there is one, a head for each leaf of the action, and one for the value."""

    def __init__(self, observation: Nested[ArraySpec], action: Nested[ActionLeaf], config: PolicyConfig) -> None:
        """Makes the layers.

        Raises:
          ValueError: Encoder, observation and action do not fit each other.
        """
        super().__init__()
        leaves: Structure[ActionLeaf] = Structure(action)
        self.normaliser = Normaliser(Structure(observation)) if config.normalise else None
        alone = () if config.value is None else config.value.alone
        self._own = _own_leaves(Structure(observation).paths, alone)
        self.encoder = Encoder(config.encoder, _without(observation, alone))
        self.memory = None if config.memory is None else _memory(config.memory, self.encoder.outputs)
        features = self.encoder.outputs if self.memory is None else self.memory.units
        self.heads = nn.ModuleList(
            make_head(
                leaf, features, self.encoder.entity_widths, config.head_gain, config.log_std,
                is_shared=config.std == "shared",
            )
            for leaf in leaves.leaves
        )  # fmt: skip
        self.value_encoder = None if config.value is None else Encoder(config.value.encoder, Structure(observation))
        valued = features if self.value_encoder is None else self.value_encoder.outputs
        value = orthogonal(nn.Linear(valued, len(config.rewards) or 1), 1.0)
        self.value = value if config.popart is None else ScaledValue(value, config.popart)
        self.spec = ModelSpec(
            observation,
            leaves.unflatten([leaf.distribution for leaf in leaves.leaves]),
            None if self.memory is None else {name: ArraySpec((self.memory.units,)) for name in self.memory.parts},
            policy_target=config.policy_target,
            rewards=config.rewards,
        )

    def forward(self, observation: Any, state: dict[str, Tensor] | None = None) -> PolicyOutput:
        """Returns what to do about one tick of each game, and the state behind it.

        Args:
          observation: Nested like the spec's, each leaf [B, …].
          state: Each [B, units], where the policy has a memory; None begins a game.
        """
        leaves = self._scaled(self.spec.inputs.flatten(observation))
        seen = self._encoded(leaves)
        if self.memory is None:
            return self._output(seen, leaves, None)
        if state is None:
            state = {name: seen.features.new_zeros(len(seen.features), self.memory.units) for name in self.memory.parts}
        features, following = self.memory(seen.features, state)
        return self._output(Encoded(features, seen.entities), leaves, following)

    def unroll(self, observation: Any, state: dict[str, Tensor], reset: Tensor) -> PolicyOutput:
        """Returns what to do about many ticks in a row, each leaf [T, B, …], and the state behind the last.

        Args:
          observation: Nested like the spec's, each leaf [T, B, …].
          state: State before the first tick, each [B, units].
          reset: Where a tick is the first of its episode, which begins with zeros; bool [T, B].

        Raises:
          ValueError: The policy has no memory, or the shapes do not fit.
        """
        if self.memory is None:
            raise ValueError("the policy has no memory to unroll; describe one under memory")
        shape = tuple(reset.shape)
        leaves = self._scaled([leaf.flatten(0, 1) for leaf in self.spec.inputs.flatten(observation)])
        seen = self._encoded(leaves)
        features, state = self.memory.unroll(seen.features.reshape(*shape, -1), state, reset)
        whole = self._output(Encoded(features.flatten(0, 1), seen.entities), leaves, None)
        dist_inputs = [leaf.reshape(*shape, -1) for leaf in self.spec.actions.flatten(whole.dist_inputs)]
        return PolicyOutput(
            self.spec.actions.unflatten(dist_inputs), whole.value.reshape(*shape, *self.spec.reward_shape), state
        )

    def _scaled(self, leaves: list[Tensor]) -> list[Tensor]:
        return leaves if self.normaliser is None else list(self.normaliser(leaves))

    def _encoded(self, leaves: list[Tensor]) -> Encoded:
        seen: Encoded = self.encoder([leaves[at] for at in self._own])
        return seen

    def _output(self, seen: Encoded, leaves: list[Tensor], state: dict[str, Tensor] | None) -> PolicyOutput:
        dist_inputs = self.spec.actions.unflatten([head(seen) for head in self.heads])
        valued = seen.features if self.value_encoder is None else self.value_encoder(leaves).features
        value = self.value(valued)
        return PolicyOutput(dist_inputs, value if self.spec.rewards else value.squeeze(-1), state)


def build(observation: Any, action: Any, **network: Any) -> Policy | QNetwork | ActorCritics:
    """Returns an untrained policy, values of actions, or a policy with critics.

    Args:
      observation: Described arrays, such as ``{shape: [4]}``, by name where there are several.
      action: Described leaves, such as ``{choices: 2}`` and ``{shape: [2], low: -1, high: 1}``, likewise.
      network: Fields of ``PolicyConfig``.

    Raises:
      ConfigError: Something is described wrongly; the message says where, what was got and what is allowed.
    """
    try:
        config = PolicyConfig.model_validate(network)
        seen = observation_of(observation)
        leaves = action_of(action, Structure(seen))
        if config.q is not None:
            return QNetwork(seen, leaves, config)
        policy = Policy(seen, leaves, config)
        return policy if config.critics is None else ActorCritics(policy, policy.spec, config)
    except ProblemsError as error:
        raise config_error(FACTORY, error.problems) from error
    except ValidationError as error:
        raise config_error(FACTORY, schema_problems(error, PolicyConfig)) from error
    except ValueError as error:
        raise config_error(FACTORY, {"network": str(error)}) from error


def _own_leaves(paths: Sequence[str], alone: Sequence[str]) -> tuple[int, ...]:
    """Returns which leaves of an observation the policy sees."""
    return tuple(at for at, path in enumerate(paths) if path.partition("/")[0] not in alone)


def _without(observation: Nested[ArraySpec], alone: Sequence[str]) -> Structure[ArraySpec]:
    """Returns what the policy sees of an observation.

    Raises:
      ValueError: A part is none of the observation's, or nothing is left.
    """
    if not alone:
        return Structure(observation)
    parts = observation if isinstance(observation, dict) else {}
    unknown = sorted(set(alone) - set(parts))
    if unknown or len(parts) == len(set(alone)):
        names = ", ".join(parts) or "none: it is one array"
        raise ValueError(f"value.alone is {list(alone)}; allowed are some parts of the observation, not all: {names}")
    return Structure({name: part for name, part in parts.items() if name not in alone})


def _memory(config: MemoryConfig, inputs: int) -> Memory:
    return (Lstm if config.kind == "lstm" else Gru)(inputs, config.units)
