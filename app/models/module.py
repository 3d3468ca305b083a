"""Builds a user's policy network and turns its parameters into arrays and back."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol, cast, runtime_checkable

import numpy as np
import torch
from torch import Tensor, nn

from app.errors import ModelMismatchError, PluginError
from app.models.spec import ModelSpec, spec_hash
from app.plugins import load_plugin
from app.types import Arrays


class PolicyOutput(NamedTuple):
    """What a policy network returns."""

    logits: Tensor
    """Unnormalised log-probabilities, [B, actions]."""
    value: Tensor
    """Expected return, [B]."""


@runtime_checkable
class Policy(Protocol):
    """A torch module that also tells its shapes; its forward maps observations [B, …] to a ``PolicyOutput``."""

    spec: ModelSpec


def build_module(factory: str, kwargs: Mapping[str, Any], seed: int) -> nn.Module:
    """Returns the user's module with its parameters drawn from ``seed``; the global generator is left alone.

    Raises:
      PluginError: The factory is missing or does not return a module with a ``spec``.
    """
    make = load_plugin(factory)
    if not callable(make):
        raise PluginError(f"{factory!r} is not callable, it is a {type(make).__name__}")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        module = make(**kwargs)
    if not (isinstance(module, nn.Module) and isinstance(module, Policy) and isinstance(module.spec, ModelSpec)):
        raise PluginError(
            f"{factory!r} must return a torch module with an attribute spec: ModelSpec, got {type(module).__name__}"
        )
    return module


def spec_of(module: nn.Module) -> ModelSpec:
    """Returns the shapes that the module declares."""
    return cast("Policy", module).spec


def hash_of(module: nn.Module) -> str:
    """Returns the hash that two halves of the system compare before they exchange weights."""
    return spec_hash(spec_of(module), {name: tuple(x.shape) for name, x in module.state_dict().items()})


def to_arrays(module: nn.Module) -> Arrays:
    """Returns copies of the module's parameters and buffers."""
    return {name: x.detach().cpu().numpy().copy() for name, x in module.state_dict().items()}


def from_arrays(module: nn.Module, arrays: Arrays) -> None:
    """Copies the arrays into the module, all or none.

    Raises:
      ModelMismatchError: A name is missing or extra, or a shape differs.
    """
    wanted = {name: tuple(x.shape) for name, x in module.state_dict().items()}
    given = {name: array.shape for name, array in arrays.items()}
    if given != wanted:  # torch would copy those that fit before it complains of the others.
        wrong = ", ".join(sorted(name for name in wanted | given if given.get(name) != wanted.get(name)))
        raise ModelMismatchError(f"these weights do not fit the model {type(module).__name__}: {wrong}")
    # np.array: arrays out of the object store are read-only, which torch does not know.
    module.load_state_dict({name: torch.from_numpy(np.array(array)) for name, array in arrays.items()})
