"""Builds a user's policy network and turns its parameters into arrays and back."""

from collections.abc import Mapping, Sequence
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

    dist_inputs: Any
    """Inputs of the action's distribution, such as logits; nested like the spec's action, each leaf [B, inputs]."""
    value: Tensor
    """Expected return, [B]; where the spec names rewards, that of each, [B, rewards]."""
    state: Any = None
    """State after this tick, nested like the spec's state, each leaf [B, …]; None without one."""


class ModelOutput(NamedTuple):
    """What a network returns that is no policy but carries a state; one without a state returns its outputs alone."""

    outputs: Any
    """Nested like the spec's outputs, each leaf [B, …]."""
    state: Any
    """State after this tick, nested like the spec's state, each leaf [B, …]."""


@runtime_checkable
class Specified(Protocol):
    """A torch module that also tells its shapes.

    Its forward maps an observation, nested like the spec's and each leaf [B, …], to a ``PolicyOutput``; with a state in
    the spec it takes that as a second argument, and a network that is no policy returns its outputs.
    """

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
    if not (isinstance(module, nn.Module) and isinstance(module, Specified) and isinstance(module.spec, ModelSpec)):
        raise PluginError(
            f"{factory!r} must return a torch module with an attribute spec: ModelSpec, got {type(module).__name__}"
        )
    return module


def spec_of(module: nn.Module) -> ModelSpec:
    """Returns the shapes that the module declares."""
    return cast("Specified", module).spec


def hash_of(module: nn.Module) -> str:
    """Returns the hash that two halves of the system compare before they exchange weights."""
    return spec_hash(spec_of(module), {name: tuple(x.shape) for name, x in module.state_dict().items()})


def call(
    module: nn.Module, spec: ModelSpec, inputs: Sequence[Tensor], states: Sequence[Tensor]
) -> tuple[list[Tensor], list[Tensor]]:
    """Returns what a network answers, and its next state, by leaves.

    Args:
      module: The network.
      spec: Its shapes.
      inputs: The leaves of the observation, each [B, …].
      states: The leaves of the state, each [B, …]; none without one.

    Raises:
      ValueError: The answer is not nested as the spec tells.
    """
    arguments = [spec.inputs.unflatten(inputs)]
    if len(spec.states):
        arguments.append(spec.states.unflatten(states))
    answer = module(*arguments)
    state = answer.state if len(spec.states) else None
    try:
        if spec.is_policy:
            return [*spec.actions.flatten(answer.dist_inputs), answer.value], spec.states.flatten(state)
        outputs = answer.outputs if len(spec.states) else answer
        return spec.answers.flatten(outputs), spec.states.flatten(state)
    except (ValueError, TypeError) as error:
        raise ValueError(f"the answer of {type(module).__name__} is not nested as its spec: {error}") from error


def to_arrays(module: nn.Module) -> Arrays:
    """Returns copies of the module's parameters and buffers."""
    return arrays_of(module.state_dict())


def arrays_of(tensors: Mapping[str, Tensor]) -> Arrays:
    """Returns copies of tensors by the same names."""
    return {name: x.detach().cpu().numpy().copy() for name, x in tensors.items()}


def from_arrays(module: nn.Module, arrays: Arrays) -> None:
    """Copies the arrays into the module, all or none.

    Raises:
      ModelMismatchError: A name is missing or extra, or a shape differs.
    """
    check_fits(module, arrays)  # torch would copy those that fit before it complains of the others.
    # np.array: arrays out of the object store are read-only, which torch does not know.
    module.load_state_dict({name: torch.from_numpy(np.array(array)) for name, array in arrays.items()})


def check_fits(module: nn.Module, arrays: Arrays) -> None:
    """Does nothing where weights are those of such a module.

    Raises:
      ModelMismatchError: A name is missing or extra, or a shape differs.
    """
    check_shapes(type(module).__name__, {name: tuple(x.shape) for name, x in module.state_dict().items()}, arrays)


def check_shapes(model: str, wanted: Mapping[str, tuple[int, ...]], arrays: Arrays) -> None:
    """Does nothing where weights have the names and shapes that a model wants.

    Raises:
      ModelMismatchError: A name is missing or extra, or a shape differs.
    """
    given = {name: array.shape for name, array in arrays.items()}
    if given != wanted:
        wrong = ", ".join(sorted(name for name in wanted.keys() | given if given.get(name) != wanted.get(name)))
        raise ModelMismatchError(f"these weights do not fit the model {model}: {wrong}")
