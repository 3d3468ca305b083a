"""From a trainer's config to the network that is trained."""

import torch
from torch import nn

from app.config.strategies import DeepSpeed, Fsdp, LocalMultiGpu, package_problem
from app.config.training import TrainerConfig
from app.errors import ConfigError
from train.strategies.ddp import wrap_ddp
from train.strategies.fsdp import wrap_fsdp
from train.strategies.local_multi_gpu import local_devices, wrap_local_multi_gpu
from train.strategies.precision import precision_problem
from train.strategies.strategy import Place, Trained


def wrap(config: TrainerConfig, module: nn.Module, place: Place) -> Trained:
    """Returns the network as its strategy trains it; every worker does so at the same time.

    Args:
      config: The trainer's.
      module: The network, with the weights that training begins or goes on with.
      place: Where this worker trains.

    Raises:
      ConfigError: It cannot be trained so on this machine; another way is never taken instead.
      PluginError: User code that the config names is missing.
    """
    if problem := package_problem(config.strategy) or precision_problem(config.precision, place.device):
        raise ConfigError(problem)
    if place.device.type == "cuda":  # Collectives and libraries take the present device for this worker's.
        torch.cuda.set_device(place.device)
    match config.strategy:
        case Fsdp() as settings:
            return wrap_fsdp(config, settings, module, place)
        case DeepSpeed() as settings:
            from train.strategies.zero import wrap_deepspeed  # noqa: PLC0415

            return wrap_deepspeed(config, settings, module, place)
        case LocalMultiGpu():
            return wrap_local_multi_gpu(config, module, local_devices())
        case _:
            return wrap_ddp(config, module, place)
