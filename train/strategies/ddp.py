"""Each worker holds the whole network."""

from torch import nn
from torch.nn.parallel import DistributedDataParallel

from app.config.training import TrainerConfig
from train.strategies.parallel import Parallel
from train.strategies.precision import in_precision
from train.strategies.strategy import Place


def wrap_ddp(config: TrainerConfig, module: nn.Module, place: Place) -> Parallel:
    """Returns a network whose gradients torch averages over the workers, as they come; alone, the network itself."""
    module.to(place.device)
    called = in_precision(module, config.precision, place.device)
    if place.workers > 1:
        devices = [place.device] if place.device.type == "cuda" else None
        called = DistributedDataParallel(called, device_ids=devices)
    return Parallel(config, module, called, place)
