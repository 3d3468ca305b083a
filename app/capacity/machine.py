"""The machine that is planned with: a small YAML file of the user."""

from pathlib import Path

import yaml
from pydantic import Field, ValidationError

from app.config.base import Config
from app.errors import PlanError


class Machine(Config):
    """One machine of the cluster; all are alike."""

    name: str = "machine"
    """What the table calls it."""

    cores: int = Field(ge=1)
    """CPU cores, as the measured ones are."""

    gpus: int = Field(0, ge=0)
    """GPUs."""

    memory_gb: float = Field(gt=0)
    """Memory in GiB."""

    network_gbit_s: float = Field(gt=0)
    """Network in Gbit a second, each way."""

    price_per_hour: float = Field(ge=0)
    """Price of an hour, in ``currency``."""

    currency: str = "EUR"
    """Of the price."""

    system_cores: float = Field(1.0, ge=0)
    """Cores that Ray, the kernel and whatever else runs on the machine keep."""

    round_trip_ms: float = Field(0.5, ge=0)
    """Round trip between two machines, and from a game core to a machine, in milliseconds."""

    @property
    def usable_cores(self) -> float:
        """Cores for our processes."""
        return self.cores - self.system_cores


def read_machine(path: Path) -> Machine:
    """Returns the machine of a YAML file.

    Raises:
      PlanError: The file cannot be read, or a value is missing or not allowed.
    """
    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
        machine = Machine.model_validate(found)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise PlanError(f"{path}: cannot be read: {error}") from error
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, one['loc'])) or 'the file'}: {one['msg']}" for one in error.errors())
        raise PlanError(f"{path}: {wrong}; allowed keys: {', '.join(Machine.model_fields)}") from error
    if machine.usable_cores < 1:
        raise PlanError(
            f"{path}: of {machine.cores} cores the system keeps {machine.system_cores:g}; allowed is at least one "
            "core for our processes"
        )
    return machine
