"""What a policy model takes and gives."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """Shapes at the edge of a policy with discrete actions."""

    observation_shape: tuple[int, ...]
    """Shape of one observation, without the batch axis."""
    actions: int
    """Number of discrete actions."""
    observation_dtype: str = "float32"
    """numpy name of the observation's dtype."""

    def __post_init__(self) -> None:
        if self.actions < 1 or any(size < 1 for size in self.observation_shape):
            raise ValueError(f"a model spec needs positive sizes, got {self}")


def spec_hash(spec: ModelSpec, parameters: Mapping[str, tuple[int, ...]]) -> str:
    """Returns a short hash of a model's spec and of the names and shapes of its parameters."""
    text = json.dumps([asdict(spec), sorted((name, list(shape)) for name, shape in parameters.items())])
    return hashlib.sha256(text.encode()).hexdigest()[:16]
