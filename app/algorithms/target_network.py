"""Slowly moving copies of networks, by Polyak averaging (Lillicrap et al., 2016), https://arxiv.org/abs/1509.02971."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Generic, TypeVar

import torch
from torch import Tensor, nn

ModuleT = TypeVar("ModuleT", bound=nn.Module)

PREFIX = "target."
"""What the names of a target network's tensors begin with in a learner's state."""


def track(target: nn.Module, online: nn.Module, rate: float) -> None:
    """Moves a target network in place by a share towards the online one; buffers are copied whole.

    Args:
      target: The slow network.
      online: The network that is trained, of the same shapes.
      rate: Share in [0, 1]; 1 copies.

    Raises:
      ValueError: The rate lies outside its range.
    """
    if not 0 <= rate <= 1:
        raise ValueError(f"track needs a rate in [0, 1], got {rate}")
    Pairs(target, online).follow(rate)


class Pairs:
    """The tensors of a slow network beside those of the online one, found once: to look for them costs a step more."""

    def __init__(self, target: nn.Module, online: nn.Module) -> None:
        """Finds them; both networks keep their tensors from here on."""
        self._slow: list[Tensor] = list(target.parameters())
        self._fast: list[Tensor] = list(online.parameters())
        self._buffers = list(zip(target.buffers(), online.buffers(), strict=True))

    @torch.no_grad()
    def follow(self, rate: float) -> None:
        """Moves the slow ones by a share of the way; buffers are copied whole."""
        torch._foreach_lerp_(self._slow, self._fast, rate)
        for kept, newest in self._buffers:
            kept.copy_(newest)


@dataclass(frozen=True, slots=True)
class TargetSettings:
    """How a target network follows."""

    every_updates: int | None
    """Updates after which it becomes a copy; None: it moves after each optimizer step."""
    rate: float
    """Share of the way that it moves."""


class Target(Generic[ModuleT]):
    """A network's slow copy."""

    def __init__(self, online: ModuleT, settings: TargetSettings) -> None:
        """Copies a network as it is now."""
        self._settings = settings
        self.network: ModuleT = deepcopy(online).requires_grad_(False)
        """The copy; it learns nothing by itself."""
        self._pairs = Pairs(self.network, online)

    def follow_step(self) -> None:
        """Moves after an optimizer step, where it does so."""
        if self._settings.every_updates is None:
            self._pairs.follow(self._settings.rate)

    def follow_update(self, updates: int) -> None:
        """Becomes a copy after so many updates, where it does so and they are due."""
        if self._settings.every_updates is not None and updates % self._settings.every_updates == 0:
            self._pairs.follow(1.0)

    def state_dict(self) -> dict[str, Tensor]:
        """Returns copies of its tensors, by names that begin with ``target.``."""
        return {PREFIX + name: x.detach().clone() for name, x in self.network.state_dict().items()}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Takes tensors that ``state_dict`` returned, out of a learner's whole state."""
        mine = {name.removeprefix(PREFIX): x for name, x in state.items() if name.startswith(PREFIX)}
        self.network.load_state_dict(mine)
