"""From a nested observation to features, as a config describes it."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from app.models.networks.attention import EntityEncoder
from app.models.networks.cnn import Cnn, Filters
from app.models.networks.mlp import Mlp
from app.models.networks.policy_config import CnnConfig, EncoderConfig, EntitiesConfig, MlpConfig, PartsConfig
from app.models.spec import ArraySpec
from app.nested import Structure

IMAGE_AXES = 3
"""Channels, height, width."""
ENTITY_AXES = 2
"""Entities, features."""


class Encoded(NamedTuple):
    """What an observation looks like."""

    features: Tensor
    """[B, outputs]."""
    entities: dict[str, Tensor]
    """Features of the entities by the path of their array, each [B, N, hidden]."""


class Encoder(nn.Module):
    """Maps the leaves of an observation, each [B, …], to features."""

    def __init__(self, config: EncoderConfig, observation: Structure[ArraySpec]) -> None:
        """Makes the layers.

        Raises:
          ValueError: The encoder does not fit the observation.
        """
        super().__init__()
        self._paths = observation.paths
        described = _described(config, observation.paths)
        self._groups = tuple(tuple(observation.paths.index(path) for path in paths) for paths, _ in described)
        parts = [
            _part(one, paths, [observation.leaves[at] for at in group])
            for (paths, one), group in zip(described, self._groups, strict=True)
        ]
        width = sum(part.outputs for part in parts)
        self.parts = nn.ModuleList(parts)
        self.joint: Mlp | None = None
        if isinstance(config, PartsConfig):
            self.joint = Mlp(width, config.hidden, config.activation, is_orthogonal=config.orthogonal)
        self.outputs = width if self.joint is None else self.joint.outputs
        self.entity_widths = {
            paths[0]: part.outputs
            for (paths, _), part in zip(described, parts, strict=True)
            if isinstance(part, _EntityPart)
        }
        """Width of the entities' features, by the path of their array."""

    def forward(self, leaves: Sequence[Tensor]) -> Encoded:
        """Returns features of the observation and of its entities."""
        features: list[Tensor] = []
        entities: dict[str, Tensor] = {}
        for group, part in zip(self._groups, self.parts, strict=True):
            seen, tokens = part([leaves[at] for at in group])
            features.append(seen)
            if tokens is not None:
                entities[self._paths[group[0]]] = tokens
        together = torch.cat(features, dim=-1)
        return Encoded(together if self.joint is None else self.joint(together), entities)


class _Part(nn.Module):
    """Maps some leaves to their features, and to those of each entity where they have any."""

    outputs: int


class _FlatPart(_Part):
    def __init__(self, config: MlpConfig, leaves: Sequence[ArraySpec]) -> None:
        super().__init__()
        width = sum(math.prod(leaf.shape) for leaf in leaves)
        self.encoder = Mlp(width, config.hidden, config.activation, is_orthogonal=config.orthogonal)
        self.outputs = self.encoder.outputs

    def forward(self, leaves: Sequence[Tensor]) -> tuple[Tensor, None]:
        return self.encoder(torch.cat([leaf.reshape(leaf.shape[0], -1).float() for leaf in leaves], dim=-1)), None


class _ImagePart(_Part):
    def __init__(self, config: CnnConfig, leaf: ArraySpec) -> None:
        super().__init__()
        channels, height, width = leaf.shape
        filters = [Filters(*layer) for layer in config.filters]
        self.encoder = Cnn((channels, height, width), filters, config.units, is_orthogonal=config.orthogonal)
        self.outputs = config.units

    def forward(self, leaves: Sequence[Tensor]) -> tuple[Tensor, None]:
        return self.encoder(leaves[0]), None


class _EntityPart(_Part):
    def __init__(self, config: EntitiesConfig, leaf: ArraySpec) -> None:
        super().__init__()
        features = leaf.shape[1]
        if config.present is not None and config.present >= features:
            raise ValueError(f"present is {config.present}; an entity has {features} features, counted from 0")
        self._present = config.present
        self.encoder = EntityEncoder(features, config.hidden, config.heads, config.layers)
        self.outputs = config.hidden

    def forward(self, leaves: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        rows = leaves[0].float()
        shown = torch.ones_like(rows[..., 0]) if self._present is None else rows[..., self._present]
        tokens, mean = self.encoder(rows, shown > 0)
        return mean, tokens


def _described(
    config: EncoderConfig, paths: Sequence[str]
) -> list[tuple[tuple[str, ...], MlpConfig | CnnConfig | EntitiesConfig]]:
    """Returns the encoders and the paths that each of them sees."""
    if not isinstance(config, PartsConfig):
        return [(tuple(paths), config)]
    if set(config.parts) != set(paths):
        raise ValueError(
            f"parts has encoders of {', '.join(map(repr, config.parts)) or 'nothing'}; "
            f"allowed is one for each of {', '.join(map(repr, paths))}"
        )
    return [((path,), config.parts[path]) for path in paths]


def _part(config: MlpConfig | CnnConfig | EntitiesConfig, paths: Sequence[str], leaves: Sequence[ArraySpec]) -> _Part:
    if isinstance(config, MlpConfig):
        return _FlatPart(config, leaves)
    axes, what = (
        (IMAGE_AXES, "channels, height, width")
        if isinstance(config, CnnConfig)
        else (ENTITY_AXES, "entities, features")
    )
    if len(leaves) != 1 or len(leaves[0].shape) != axes:
        got = ", ".join(f"{path or 'observation'} {list(leaf.shape)}" for path, leaf in zip(paths, leaves, strict=True))
        raise ValueError(f"an encoder of kind {config.kind} sees one array of {what}, got {got}; allowed is kind parts")
    return _ImagePart(config, leaves[0]) if isinstance(config, CnnConfig) else _EntityPart(config, leaves[0])
