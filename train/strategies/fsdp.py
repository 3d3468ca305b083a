"""Weights, gradients and optimizer state split over the workers."""

from fnmatch import fnmatchcase

from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from app.config.strategies import Fsdp
from app.config.training import TrainerConfig
from app.errors import ConfigError
from train.strategies.parallel import Parallel
from train.strategies.precision import in_precision
from train.strategies.processes import ensure_group
from train.strategies.strategy import Place


def wrap_fsdp(config: TrainerConfig, settings: Fsdp, module: nn.Module, place: Place) -> Parallel:
    """Returns a network that is put together part by part as it is called.

    Raises:
      ConfigError: A pattern names no submodule.
    """
    ensure_group(place)
    module.to(place.device)
    mesh = init_device_mesh(place.device.type, (place.workers,))
    for part in parts(module, settings.shard_modules):
        fully_shard(part, mesh=mesh)
    fully_shard(module, mesh=mesh)
    return Parallel(config, module, in_precision(module, config.precision, place.device), place)


def parts(module: nn.Module, patterns: tuple[str, ...]) -> list[nn.Module]:
    """Returns the submodules that patterns name, inner ones first.

    Raises:
      ConfigError: A pattern names none.
    """
    named = {name: part for name, part in module.named_modules() if name}
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in named):
            known = ", ".join(sorted(named)) or "none"
            raise ConfigError(f"strategy.shard_modules: {pattern!r} names no submodule; there are {known}")
    found = [part for name, part in named.items() if any(fnmatchcase(name, pattern) for pattern in patterns)]
    return found[::-1]
