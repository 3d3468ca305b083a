"""Which parameters of a policy its actions and its value depend on, found by torch's graph."""

import torch
from torch import Tensor, nn

from app.models.module import call, spec_of


def acting_parameters(module: nn.Module) -> list[nn.Parameter]:
    """Returns the parameters that actions depend on, now or by the state of later ticks, in the module's order."""
    outputs, states = _answer(module)
    return _behind(module, [*outputs[: len(spec_of(module).actions.leaves)], *states])


def valuing_parameters(module: nn.Module) -> list[nn.Parameter]:
    """Returns the parameters that the value depends on, in the module's order."""
    outputs, _ = _answer(module)
    return _behind(module, outputs[-1:])


def shared_parameters(module: nn.Module) -> list[str]:
    """Returns the names of the parameters that both actions and value depend on."""
    acting = {id(x) for x in acting_parameters(module)}
    both = acting & {id(x) for x in valuing_parameters(module)}
    return [name for name, x in module.named_parameters() if id(x) in both]


def _answer(module: nn.Module) -> tuple[list[Tensor], list[Tensor]]:
    spec = spec_of(module)
    device = next((x.device for x in module.parameters()), None)

    def nothing(shape: tuple[int, ...], dtype: str) -> Tensor:
        return torch.zeros((1, *shape), dtype=getattr(torch, dtype), device=device)

    inputs = [nothing(leaf.shape, leaf.dtype) for leaf in spec.inputs.leaves]
    return call(module, spec, inputs, [nothing(leaf.shape, leaf.dtype) for leaf in spec.states.leaves])


def _behind(module: nn.Module, told: list[Tensor]) -> list[nn.Parameter]:
    parameters = list(module.parameters())
    sums = [x.sum() for x in told if x.requires_grad]
    if not sums:
        return []
    gradients = torch.autograd.grad(torch.stack(sums).sum(), parameters, allow_unused=True)
    return [x for x, gradient in zip(parameters, gradients, strict=True) if gradient is not None]
