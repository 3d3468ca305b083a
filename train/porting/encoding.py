"""What stands between an observation and the last layers: theirs by name, ours as a config and weights."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch import Tensor

from app.errors import ConfigError
from app.models.networks.cnn import BYTE_MAX, NATURE
from train.porting.spaces import Observation, Seen

Tensors = dict[str, Tensor]
CONVOLUTIONS: Final = tuple(range(0, 2 * len(NATURE), 2))
"""Numbers of the convolutions in a sequence that has an activation behind each; theirs and ours."""
DENSE: Final = 2 * len(NATURE) + 1
"""Number of the layer behind them in ours."""


@dataclass(frozen=True, slots=True)
class Layer:
    """One linear layer."""

    weight: Tensor
    """[outputs, inputs]."""
    bias: Tensor
    """[outputs]."""

    @property
    def units(self) -> int:
        """How many outputs it has."""
        return int(self.weight.shape[0])

    def named(self, name: str) -> Tensors:
        """Returns its parameters under our name."""
        return {f"{name}.weight": self.weight, f"{name}.bias": self.bias}


@dataclass(frozen=True, slots=True)
class Encoding:
    """An encoder of ours."""

    config: dict[str, Any]
    """Its part of a config."""
    tensors: Tensors
    """Its weights, without a name in front."""

    def named(self, name: str) -> Tensors:
        """Returns its weights under the encoder's name."""
        return {f"{name}.{inside}": tensor for inside, tensor in self.tensors.items()}

    def same_as(self, other: "Encoding") -> bool:
        """Returns whether another one gives the same features."""
        if self.config != other.config or self.tensors.keys() != other.tensors.keys():
            return False
        return all(torch.equal(tensor, other.tensors[name]) for name, tensor in self.tensors.items())


def linear(tensors: Mapping[str, Tensor], name: str) -> Layer:
    """Returns a linear layer by its name.

    Raises:
      ConfigError: There is none.
    """
    weight, bias = tensors.get(f"{name}.weight"), tensors.get(f"{name}.bias")
    if weight is None or bias is None or weight.ndim != 2 or bias.shape != weight.shape[:1]:  # noqa: PLR2004  # A matrix.
        raise ConfigError(f"{name} is no linear layer with a bias; allowed are such layers with an activation between")
    return Layer(weight, bias)


def chain(tensors: Mapping[str, Tensor], name: str) -> list[Layer]:
    """Returns the linear layers of a sequence with an activation behind each, in order; none where there is none.

    Raises:
      ConfigError: Something else than linear layers has weights there.
    """
    found = sorted({int(match[1]) for key in tensors if (match := re.fullmatch(rf"{re.escape(name)}\.(\d+)\..*", key))})
    if found != list(range(0, 2 * len(found), 2)):
        raise ConfigError(f"{name} has weights at {found}; allowed are linear layers with an activation behind each")
    return [linear(tensors, f"{name}.{number}") for number in found]


def encode(
    observation: Observation, extractor: Mapping[str, Tensor], layers: Sequence[Layer], activation: str, *, scales: bool
) -> Encoding:
    """Returns an encoder with the layers of a feature extractor, and those behind it.

    Args:
      observation: What it sees.
      extractor: Weights of the extractor by their names inside of it; none where it only flattens.
      layers: What stands behind it.
      activation: Behind each of these.
      scales: Whether pictures of bytes are divided by 255.

    Raises:
      ConfigError: The extractor is none of Stable-Baselines3's own.
    """
    if isinstance(observation, dict):
        return _parts(observation, extractor, layers, activation, scales=scales)
    if extractor:
        config, tensors = _picture(observation, extractor, "", scales=scales)
        if not layers:
            return Encoding(config, {f"parts.0.{name}": tensor for name, tensor in tensors.items()})
        return _parts(
            {"": observation}, {f"extractors..{n}": x for n, x in extractor.items()}, layers, activation, scales=scales
        )
    if observation.is_image and scales:
        if not layers:
            raise ConfigError("the network sees a flattened picture and has no layer; allowed is at least one")
        layers = [Layer(layers[0].weight / BYTE_MAX, layers[0].bias), *layers[1:]]
    hidden = [layer.units for layer in layers]
    tensors = _sequence("parts.0.encoder.layers", layers)
    return Encoding({"kind": "mlp", "hidden": hidden, "activation": activation}, tensors)


def _parts(
    observation: Mapping[str, Seen],
    extractor: Mapping[str, Tensor],
    layers: Sequence[Layer],
    activation: str,
    *,
    scales: bool,
) -> Encoding:
    """Returns an encoder for each part, and the layers behind all of them."""
    configs: dict[str, Any] = {}
    tensors: Tensors = {}
    for number, (name, seen) in enumerate(sorted(observation.items())):
        own = under(extractor, f"extractors.{name}.")
        if own:
            configs[name], found = _picture(seen, own, name, scales=scales)
            tensors |= {f"parts.{number}.{inside}": tensor for inside, tensor in found.items()}
        elif seen.is_image and scales:
            raise ConfigError(f"the part {name!r} is a picture without a NatureCNN; allowed is one with it")
        else:
            configs[name] = {"kind": "mlp", "hidden": []}
    tensors |= _sequence("joint.layers", layers)
    hidden = [layer.units for layer in layers]
    return Encoding({"kind": "parts", "parts": configs, "hidden": hidden, "activation": activation}, tensors)


def _picture(seen: Seen, extractor: Mapping[str, Tensor], name: str, *, scales: bool) -> tuple[dict[str, Any], Tensors]:
    """Returns the convolutions of Mnih et al. (2015), which are theirs (NatureCNN) and ours."""
    tensors: Tensors = {}
    for number, filters in zip(CONVOLUTIONS, NATURE, strict=True):
        weight, bias = (extractor.get(f"cnn.{number}.{part}") for part in ("weight", "bias"))
        if (
            weight is None
            or bias is None
            or (weight.shape[0], *weight.shape[2:]) != (filters.channels, filters.size, filters.size)
        ):
            raise ConfigError(
                f"the extractor{f' of {name!r}' if name else ''} is none of Stable-Baselines3; allowed is NatureCNN"
            )
        # Ours divides bytes by 255 in any case.
        undo = BYTE_MAX if number == 0 and seen.dtype == "uint8" and not (scales and seen.is_image) else 1.0
        tensors |= {f"encoder.layers.{number}.weight": weight * undo, f"encoder.layers.{number}.bias": bias}
    dense = linear(extractor, "linear.0")
    return {"kind": "cnn", "units": dense.units}, tensors | dense.named(f"encoder.layers.{DENSE}")


def _sequence(name: str, layers: Sequence[Layer]) -> Tensors:
    tensors: Tensors = {}
    for number, layer in enumerate(layers):
        tensors |= layer.named(f"{name}.{2 * number}")
    return tensors


def under(tensors: Mapping[str, Tensor], name: str) -> Tensors:
    """Returns what stands under a name, without it."""
    return {key.removeprefix(name): tensor for key, tensor in tensors.items() if key.startswith(name)}
