"""Builds networks whose parameters are views of given arrays, so that all replicas of a node share one copy."""

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from app.models.module import check_fits, from_arrays
from app.types import Arrays


class NetworkTemplate:
    """A network without its parameters; makes networks of given weights, from any thread."""

    def __init__(self, module: nn.Module, device: str = "cpu") -> None:
        """Takes the structure of a network in evaluation mode.

        Args:
          module: The network; it is left as it is, and may go.
          device: Where the networks are to answer.
        """
        self._device = device
        places = {id(x): _without_memory(x) for _, x in module.named_parameters(remove_duplicate=False)}
        self._module = copy.deepcopy(module, dict(places))
        self.size_bytes = sum(x.numel() * x.element_size() for x in module.state_dict().values())
        """Bytes of one version of the weights."""
        named = {name for name, _ in module.named_parameters(remove_duplicate=False)}
        named |= {name for name, _ in module.named_buffers(remove_duplicate=False)}
        self._plain = set(module.state_dict()) <= named
        self._spare = None if self._plain else copy.deepcopy(module)
        """A whole network, where the names of the state are not those of parameters and buffers."""

    def build(self, arrays: Arrays) -> nn.Module:
        """Returns a network with these weights.

        On a CPU its parameters are the arrays themselves, also where these are read-only: answering does not write to
        them. Buffers are copied, since a network may count in them.

        Raises:
          ModelMismatchError: A name is missing or extra, or a shape differs.
        """
        if self._spare is not None:
            module = copy.deepcopy(self._spare)
            from_arrays(module, arrays)
            return module
        check_fits(self._module, arrays)
        built: dict[int, Any] = {}
        for name, parameter in self._module.named_parameters(remove_duplicate=False):
            built[id(parameter)] = nn.Parameter(self._placed(_view(arrays[name]), parameter), requires_grad=False)
        for name, buffer in self._module.named_buffers(remove_duplicate=False):
            if name in arrays:  # Others are no weights: they come with the template.
                built[id(buffer)] = self._placed(torch.from_numpy(np.array(arrays[name])), buffer)
        return copy.deepcopy(self._module, built)

    def _placed(self, tensor: Tensor, like: Tensor) -> Tensor:
        return tensor.to(device=self._device, dtype=like.dtype)


class _Writable:
    """An array's memory, said to be writable: torch warns of what is read-only, and takes it all the same."""

    def __init__(self, array: NDArray[np.generic]) -> None:
        self._array = array  # Whoever looks at this keeps the memory.

    @property
    def __array_interface__(self) -> Mapping[str, Any]:
        found = dict(self._array.__array_interface__)
        return found | {"data": (found["data"][0], False)}


def _view(array: NDArray[np.generic]) -> Tensor:
    if array.flags.writeable or not array.size:
        return torch.from_numpy(np.array(array) if not array.size else array)
    return torch.from_numpy(np.asarray(_Writable(array)))


def _without_memory(parameter: Tensor) -> nn.Parameter:
    return nn.Parameter(torch.empty_like(parameter, device="meta"), requires_grad=False)
