"""From the config of an optimizer to torch's, its schedule and its state by name."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.distributed.tensor import DTensor, distribute_tensor
from torch.optim import Optimizer

from app.algorithms import schedules
from app.algorithms.schedules import Schedule
from app.algorithms.stepper import StepSettings, whole
from app.config import optimizers as config
from app.errors import CheckpointError, PluginError
from app.plugins import load_plugin


def make_optimizer(settings: config.Optimizer, parameters: Iterable[nn.Parameter], *, fused: bool = True) -> Optimizer:
    """Returns the optimizer of some parameters.

    Args:
      settings: Its config.
      parameters: What it changes.
      fused: Whether torch's fused kernels may be used.

    Raises:
      PluginError: An optimizer of the user's own is missing, or is none.
    """
    rate = settings.learning_rate
    match settings:
        case config.Adam():
            betas = (settings.beta_1, settings.beta_2)
            return torch.optim.Adam(parameters, rate, betas, settings.epsilon, fused=fused)
        case config.AdamW():
            betas = (settings.beta_1, settings.beta_2)
            decay = settings.weight_decay
            return torch.optim.AdamW(parameters, rate, betas, settings.epsilon, decay, fused=fused)
        case config.Sgd():
            decay, nesterov = settings.weight_decay, settings.nesterov
            return torch.optim.SGD(parameters, rate, settings.momentum, weight_decay=decay, nesterov=nesterov)
        case config.RmsProp():
            return torch.optim.RMSprop(parameters, rate, settings.decay, settings.epsilon, momentum=settings.momentum)
        case config.CustomOptimizer():
            made = _called(settings.factory, parameters, lr=rate, **settings.kwargs)
            if not isinstance(made, Optimizer):
                raise PluginError(f"{settings.factory!r} must return a torch optimizer, got {type(made).__name__}")
            return made


def step_settings(settings: config.Optimizer) -> StepSettings:
    """Returns how gradients become optimizer steps.

    Raises:
      PluginError: A schedule of the user's own is missing.
    """
    schedule = schedules.warmed_up(_schedule(settings.schedule), settings.warmup_optimizer_steps)
    return StepSettings(settings.max_grad_norm, settings.accumulate_minibatches, schedule)


def saved_optimizer(module: nn.Module, optimizer: Optimizer) -> dict[str, Any]:
    """Returns the state of an optimizer by the names of the module's parameters, whole, on the CPU."""
    names: dict[Tensor, str] = {parameter: name for name, parameter in module.named_parameters()}
    state = {names[parameter]: _kept(slots) for parameter, slots in optimizer.state.items()}
    groups = [
        {name: value for name, value in group.items() if name != "params"}
        | {"params": [names[parameter] for parameter in group["params"]]}
        for group in optimizer.param_groups
    ]
    return {"state": state, "groups": groups}


def load_optimizer(module: nn.Module, optimizer: Optimizer, saved: Mapping[str, Any], *, groups: bool) -> None:
    """Gives an optimizer a saved state.

    Args:
      module: Its parameters are those of the optimizer.
      optimizer: Changed in place.
      saved: What ``saved_optimizer`` returned.
      groups: Whether the settings of the groups come along too, in which some optimizers keep what they have learned;
        the learning rates do not, since they follow from the config and the number of steps.

    Raises:
      CheckpointError: It is of other parameters.
    """
    parameters = dict(module.named_parameters())
    if unknown := saved["state"].keys() - parameters.keys():
        raise CheckpointError(
            f"the checkpoint holds optimizer state of the parameters {', '.join(sorted(unknown))}, which the network "
            "does not have"
        )
    optimizer.state.clear()
    for name, slots in saved["state"].items():
        parameter = parameters[name]
        optimizer.state[parameter] = {key: like(value, parameter) for key, value in slots.items()}
    for group, known in zip(optimizer.param_groups, saved["groups"] if groups else [], strict=False):
        group.update({name: value for name, value in known.items() if name not in {"params", "lr"}})


def like(value: Any, parameter: Tensor) -> Any:
    """Returns a copy of a saved value where the parameter lies, split as it is where it has the same shape."""
    if not isinstance(value, Tensor) or value.ndim == 0:
        return value.clone() if isinstance(value, Tensor) else value
    if isinstance(parameter, DTensor) and value.shape == parameter.shape:
        return distribute_tensor(value.to(parameter.device), parameter.device_mesh, parameter.placements)
    return value.to(parameter.device, copy=True)


def on_cpu(x: Tensor) -> Tensor:
    """Returns a copy of a tensor, whole, on the CPU."""
    return whole(x.detach()).to("cpu", copy=True)


def _kept(slots: Mapping[str, Any]) -> dict[str, Any]:
    return {key: on_cpu(value) if isinstance(value, Tensor) else value for key, value in slots.items()}


def _schedule(settings: config.AnySchedule) -> Schedule:
    match settings:
        case config.LinearSchedule(decay_optimizer_steps=steps, end_factor=end):
            return partial(schedules.linear, decay_steps=steps, end=end)
        case config.CosineSchedule(decay_optimizer_steps=steps, end_factor=end):
            return partial(schedules.cosine, decay_steps=steps, end=end)
        case config.ExponentialSchedule(factor=factor, every_optimizer_steps=steps, end_factor=end):
            return partial(schedules.exponential, factor=factor, every_steps=steps, end=end)
        case config.CustomSchedule(factory=factory, kwargs=kwargs):
            made = _called(factory, **kwargs)
            if not callable(made):
                raise PluginError(f"{factory!r} must return a function of optimizer steps, got {type(made).__name__}")
            return cast("Schedule", made)
        case _:
            return schedules.constant


def _called(path: str, *arguments: object, **kwargs: Any) -> object:
    factory = load_plugin(path)
    if not callable(factory):
        raise PluginError(f"{path!r} is not callable, it is a {type(factory).__name__}")
    return cast("Callable[..., object]", factory)(*arguments, **kwargs)
