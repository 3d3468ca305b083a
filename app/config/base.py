"""Shared config building blocks."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

ImportPath = Annotated[str, StringConstraints(pattern=r"^[\w.]+:\w+$")]
"""A Python object as ``package.module:name``."""

Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$")]
"""A component's key in the config: lower snake case."""

Mode = Literal["train", "deploy"]
"""``train`` records and learns; ``deploy`` serves fixed weights."""


class Config(BaseModel):
    """Base of every config class: immutable, and an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Component(Config):
    """A part that can be left out of one mode."""

    enable: Literal["train", "deploy", "both"] = "both"
    """Mode in which this component exists."""

    def active_in(self, mode: Mode) -> bool:
        """Returns whether this component exists in ``mode``."""
        return self.enable in (mode, "both")


class Process(Component):
    """A component that runs in processes of its own, and what each of them reserves in the Ray cluster."""

    num_cpus: float = Field(0.0, ge=0)
    """CPU cores that one process reserves; 0 reserves none."""

    num_gpus: float = Field(0.0, ge=0)
    """GPUs that one process reserves; fractions share one."""

    memory_mb: int | None = Field(None, gt=0)
    """Memory that one process reserves, in MiB; null reserves none."""


class Factory(Config):
    """User code to import and call."""

    factory: ImportPath
    """Callable that builds the object."""

    kwargs: dict[str, Any] = {}
    """Keyword arguments of the factory."""
