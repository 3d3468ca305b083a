"""A Keras 3 model as a network, on Keras's torch backend: ``factory: "app.models.keras_model:load"``."""

import os
import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import torch
from torch import Tensor, nn

from app.errors import PluginError
from app.models.distributions.categorical import Categorical
from app.models.module import PolicyOutput
from app.models.spec import ArraySpec, ModelSpec
from app.nested import Structure
from app.plugins import load_plugin

BACKEND: Final = "KERAS_BACKEND"
"""Keras reads this environment variable once, at its import."""


class KerasPolicy(nn.Module):
    """A Keras model that answers with logits and a value: a torch module, so it serves, trains and exports like any."""

    def __init__(self, model: nn.Module, spec: ModelSpec) -> None:
        super().__init__()
        self.spec = spec
        self.model = model

    def forward(self, observation: Any) -> PolicyOutput:
        """Returns logits and value; layers such as dropout follow the module's mode."""
        logits, value = self.model(observation, training=self.training)
        return PolicyOutput(logits, _flat(value))


def load(model: str, kwargs: Mapping[str, Any] | None = None) -> KerasPolicy:
    """Returns the policy of a Keras model.

    Args:
      model: ``package.module:name`` of a callable that returns a built ``keras.Model``. Its inputs are the observation:
        one, or a dict by name. Its outputs are logits [B, choices], or a dict of such, and a value [B, 1].
      kwargs: Keyword arguments of the callable.

    Raises:
      PluginError: Keras is missing, runs on another backend, or the callable does not return such a model.
    """
    keras = _keras()
    make = load_plugin(model)
    keras.backend.clear_session(free_memory=False)  # Names of layers count up; weights are exchanged by name.
    with _seeded_by_torch():
        built = make(**(kwargs or {})) if callable(make) else make
    if not (isinstance(built, keras.Model) and isinstance(built, nn.Module)):
        raise PluginError(f"{model!r} must return a keras.Model, got {type(built).__name__}")
    if not built.built:
        raise PluginError(f"{model!r} returns a model without its shapes; make it from keras.Input, or build it")
    return KerasPolicy(built, _spec(model, built))


def _keras() -> Any:
    os.environ.setdefault(BACKEND, "torch")
    try:
        import keras  # noqa: PLC0415  # An extra, and it takes seconds.
    except ImportError as error:
        raise PluginError(f"a Keras model needs pip install 'sparring[keras]' ({error})") from error
    if keras.backend.backend() != "torch":
        raise PluginError(f"Keras runs on {keras.backend.backend()}; allowed is torch: set {BACKEND}=torch")
    return keras


@contextmanager
def _seeded_by_torch() -> Iterator[None]:
    """Makes Keras's initial weights follow from torch's generator, which is seeded while a network is built."""
    before = random.getstate()
    random.seed(int(torch.randint(2**31, ())))  # Keras draws the seeds of its initialisers from this module.
    try:
        yield
    finally:
        random.setstate(before)


def _spec(name: str, model: Any) -> ModelSpec:
    outputs = model.output
    if not (isinstance(outputs, list | tuple) and len(outputs) == 2):  # noqa: PLR2004  # Logits and value.
        raise PluginError(f"{name!r} gives {outputs}; a policy gives two outputs, logits and value")
    observation, logits = Structure[Any](model.input), Structure[Any](outputs[0])
    shapes = [_array_spec(name, x) for x in observation.leaves]
    actions = [Categorical(x.shape[-1]) for x in logits.leaves]
    return ModelSpec(observation.unflatten(shapes), logits.unflatten(actions))


def _array_spec(name: str, tensor: Any) -> ArraySpec:
    batch, *shape = tensor.shape
    if batch is not None or None in shape:
        raise PluginError(f"{name!r} takes {tensor.name} of shape {tensor.shape}; only the batch axis is to be open")
    return ArraySpec(tuple(shape), tensor.dtype)


def _flat(value: Tensor) -> Tensor:
    return value.squeeze(-1) if value.ndim > 1 else value
