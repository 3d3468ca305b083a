"""What the algorithms with critics ask of their network, and the rows that they ask about."""

from collections.abc import Mapping
from typing import NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.func import functional_call

from app.algorithms.batch_columns import BatchColumns, Masks, at, masks_at
from app.algorithms.normalising import unwrapped
from app.algorithms.target_network import Target, TargetSettings
from app.models.critics import Criticised, action_kind
from app.models.module import call
from app.models.spec import ModelSpec


class Part(NamedTuple):
    """Transitions of one optimizer step, [B, …]; lists are by leaves."""

    observation: list[Tensor]
    action: list[Tensor]
    mask: Masks
    reward: Tensor
    """Discounted sum of the n rewards."""
    discount: Tensor
    """γ to the n; 0 where the game terminated within the n steps."""
    weight: Tensor
    """Importance weights."""
    observation_t: list[Tensor]
    """The state reached."""
    mask_t: Masks
    target: Tensor | None = None
    """What the critics should predict, where trajectories have told; None: the rule says so."""


class CriticNetworks:
    """Policy, critics and their slow copies."""

    def __init__(self, module: nn.Module, spec: ModelSpec, target: TargetSettings) -> None:
        """Copies the network as it is now.

        Args:
          module: See ``Criticised``; where there are several workers, one that averages gradients over them.
          spec: Its shapes.
          target: How the copies follow.
        """
        self._module = module
        self._inner = unwrapped(module)
        self.spec = spec
        self.kind = action_kind(spec)
        self.target = Target(self._inner, target)
        """The slow copy of the whole network."""
        critics = cast("Criticised", self._inner).critics
        self._fixed = {name: x.detach() for name, x in (*critics.named_parameters(), *critics.named_buffers())}
        """What the critics are made of, the same memory, without a gradient."""
        self._columns = BatchColumns(spec)

    @property
    def log_temperature(self) -> Tensor:
        """Logarithm of the weight of the entropy, []."""
        return cast("Criticised", self._inner).log_temperature

    def part(self, batch: Mapping[str, Tensor], rows: Tensor) -> Part:
        """Returns these rows of a batch."""
        columns = self._columns
        return Part(
            at(columns.leaves(batch, "observation"), rows),
            at(columns.leaves(batch, "action"), rows),
            masks_at(columns.masks(batch), rows),
            batch["reward"][rows],
            batch["discount"][rows],
            batch["weight"][rows],
            at(columns.leaves(batch, "observation", "next_"), rows),
            masks_at(columns.masks(batch, "next_"), rows),
            batch["target"][rows] if "target" in batch else None,
        )

    def policy(self, observation: list[Tensor]) -> tuple[list[Tensor], Tensor]:
        """Returns the inputs of the action's distribution by leaves, and the value, [B]."""
        *dist_inputs, value = call(self._module, self.spec, observation, [])[0]
        return dist_inputs, value

    def target_policy(self, observation: list[Tensor]) -> list[Tensor]:
        """Returns the same inputs by the slow copy."""
        return call(self.target.network, self.spec, observation, [])[0][:-1]

    def values(self, observation: list[Tensor], action: list[Tensor]) -> Tensor:
        """Returns the values of actions by each critic, [critics, B], with a gradient for the critics."""
        return self.taken(self._asked(self._module, observation, action), action)

    def choices(self, observation: list[Tensor]) -> Tensor:
        """Returns the values of all choices, [critics, B, A], with a gradient for the critics."""
        return self._asked(self._module, observation, None)

    def target_values(self, observation: list[Tensor], action: list[Tensor]) -> Tensor:
        """Returns the same by the slow copies."""
        return self.taken(self._asked(self.target.network, observation, action), action)

    def target_choices(self, observation: list[Tensor]) -> Tensor:
        """Returns the values of all choices by the slow copies, [critics, B, A]."""
        return self._asked(self.target.network, observation, None)

    def judged(self, observation: list[Tensor], action: list[Tensor]) -> Tensor:
        """Returns values whose gradient reaches the action and stops at the critics, [critics, B]."""
        critics = cast("Criticised", self._inner).critics
        found: Tensor = functional_call(critics, self._fixed, self._arguments(observation, action))
        return found

    def untouched(self, dist_inputs: list[Tensor], value: Tensor) -> Tensor:
        """Returns 0 with a gradient of 0 for all that a loss may leave out: workers wait for every parameter."""
        return 0.0 * (sum(leaf.sum() for leaf in dist_inputs) + value.sum() + self.log_temperature)

    def _asked(self, network: nn.Module, observation: list[Tensor], action: list[Tensor] | None) -> Tensor:
        found: Tensor = network(*self._arguments(observation, action), criticise=True)
        return found

    def _arguments(self, observation: list[Tensor], action: list[Tensor] | None) -> tuple[object, object]:
        chosen = None if action is None else self.spec.actions.unflatten(action)
        return self.spec.inputs.unflatten(observation), chosen

    def taken(self, values: Tensor, action: list[Tensor]) -> Tensor:
        """Returns the values of what was done, [critics, B]: of all choices those of the chosen ones."""
        if self.kind == "numbers":
            return values
        return values.gather(2, action[0].expand(len(values), -1)[..., None]).squeeze(2)


def choice_policy(logits: Tensor, mask: Tensor | None) -> Tensor:
    """Returns log-probabilities of all choices, [B, A]; a very negative number where one is not allowed."""
    allowed = logits if mask is None else logits.masked_fill(~mask, -torch.inf)
    return allowed.log_softmax(-1).clamp(min=torch.finfo(logits.dtype).min)
