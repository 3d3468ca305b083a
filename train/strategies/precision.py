"""The forward pass in fewer bits."""

from typing import TYPE_CHECKING, Any, Final

import optree
import torch
from torch import Tensor, nn

from app.config.strategies import Precision

if TYPE_CHECKING:
    from collections.abc import Callable

DTYPES: Final[dict[Precision, torch.dtype]] = {"bf16": torch.bfloat16, "fp16": torch.float16}


class Autocast(nn.Module):
    """Calls a network under autocast; what it answers is fp32, so that losses are."""

    def __init__(self, module: nn.Module, dtype: torch.dtype, device: torch.device) -> None:
        super().__init__()
        self.module = module
        self._dtype = dtype
        self._device = device.type

    def forward(self, *arguments: Any) -> Any:
        """Returns the network's answer, its floating leaves as fp32."""
        with torch.autocast(self._device, self._dtype):
            answer = self.module(*arguments)
        tree_map: Callable[..., Any] = optree.tree_map
        return tree_map(_wide, answer, none_is_leaf=True)


def in_precision(module: nn.Module, precision: Precision, device: torch.device) -> nn.Module:
    """Returns the network as it is called; itself for fp32."""
    return Autocast(module, DTYPES[precision], device) if precision in DTYPES else module


def precision_problem(precision: Precision, device: torch.device) -> str | None:
    """Returns why a device cannot compute in a precision; None where it can."""
    if precision not in DTYPES:
        return None
    if not torch.amp.is_autocast_available(device.type):
        return f"precision {precision} needs autocast, which torch does not have on {device.type}; allowed: fp32"
    if precision == "bf16" and device.type == "cuda" and not torch.cuda.is_bf16_supported(including_emulation=False):
        name = torch.cuda.get_device_name(device)
        return f"precision bf16 is not computed by {name}; allowed: fp16 or fp32"
    return None


def _wide(leaf: object) -> object:
    return leaf.float() if isinstance(leaf, Tensor) and leaf.is_floating_point() else leaf
