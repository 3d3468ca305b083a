"""What the builder gives to each replica of an actor."""

from dataclasses import dataclass, field

from app.config.root import ExperimentConfig
from app.stores.directory import ServiceInfo
from app.types import Arrays, Version


@dataclass(frozen=True, slots=True)
class ActorArgs:
    """The config, and what was found out before the first replica began."""

    config: ExperimentConfig
    """With the components of its mode alone."""
    actor: str
    namespace: str
    service: ServiceInfo
    owner: str
    """Name under which the service holds its port."""
    first: dict[str, Arrays | None]
    """First weights of each model; None where they are drawn from the seed."""
    released: dict[str, Version] = field(default_factory=dict)
    """Models that follow the registry, and the versions that they begin with."""
