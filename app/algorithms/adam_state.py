"""The state of an Adam optimizer as tensors by name, whole from the start."""

from collections.abc import Mapping

import torch
from torch import Tensor
from torch.optim import Adam

PARTS = ("step", "exp_avg", "exp_avg_sq")


def adam_state(optimizer: Adam) -> dict[str, Tensor]:
    """Returns copies of steps and moments on the CPU, ``<place of the parameter>.<part>``; zeros before the first."""
    found = {}
    for at, parameter in enumerate(_parameters(optimizer)):
        state = optimizer.state.get(parameter, {})
        for part in PARTS:
            first = torch.zeros(()) if part == "step" else torch.zeros(parameter.shape)
            found[f"{at}.{part}"] = state.get(part, first).detach().cpu().clone()
    return found


def load_adam(optimizer: Adam, state: Mapping[str, Tensor]) -> None:
    """Goes on from what ``adam_state`` returned of an optimizer of such parameters."""
    for at, parameter in enumerate(_parameters(optimizer)):
        step, *moments = (state[f"{at}.{part}"].clone() for part in PARTS)  # Adam counts its steps on the CPU.
        mean, square = (x.to(parameter.device) for x in moments)
        optimizer.state[parameter] = {"step": step, "exp_avg": mean, "exp_avg_sq": square}


def _parameters(optimizer: Adam) -> list[Tensor]:
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]
