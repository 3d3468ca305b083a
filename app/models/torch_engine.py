"""Runs a network with torch."""

import copy
from collections import Counter, OrderedDict
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from app.models.engine import Answer, check_answer
from app.models.module import call, from_arrays, spec_of
from app.types import UNTRAINED, Arrays, Version

PINNED_MAX = 8
"""Pinned versions kept in memory beside those that are held; the least recently used leaves first."""


class TorchEngine:
    """Answers batches with torch on one device; weights change only between two batches."""

    def __init__(self, module: nn.Module, device: str = "cpu") -> None:
        self._newest = module.to(device).eval()
        self._pinned: OrderedDict[Version, nn.Module] = OrderedDict()
        self._holds: Counter[Version] = Counter()
        self._device = device
        self.spec = spec_of(module)
        self.version = UNTRAINED

    def forward(
        self,
        inputs: Sequence[NDArray[np.generic]],
        states: Sequence[NDArray[np.generic]] = (),
        version: Version | None = None,
    ) -> Answer:
        """Returns the answer to a batch, by the newest weights or by those pinned as ``version``.

        Raises:
          KeyError: That version is not pinned.
          ValueError: The network's answer has other shapes than its spec.
        """
        module = self._newest if version is None else self._module(version)
        with torch.inference_mode():
            outputs, following = call(module, self.spec, self._tensors(inputs), self._tensors(states))
        answered_by = self.version if version is None else version
        answer = Answer([_array(x) for x in outputs], [_array(x) for x in following], answered_by)
        check_answer(answer, self.spec, len(inputs[0]))
        return answer

    def load(self, version: Version, arrays: Arrays) -> None:
        """Makes these the newest weights.

        Raises:
          ModelMismatchError: They do not fit the model.
        """
        from_arrays(self._newest, arrays)
        self.version = version

    def has(self, version: Version) -> bool:
        """Returns whether the version is pinned."""
        return version in self._pinned

    def pin(self, version: Version, arrays: Arrays | None = None) -> None:
        """Keeps a version beside the newest; without arrays, a copy of the newest weights.

        Raises:
          ModelMismatchError: The weights do not fit the model.
        """
        module = copy.deepcopy(self._newest)
        if arrays is not None:
            from_arrays(module, arrays)
        self._pinned[version] = module
        self._forget_old()

    def hold(self, version: Version) -> None:
        """Keeps a pinned version, however many follow, until it is released as often as it was held."""
        self._holds[version] += 1

    def release(self, version: Version) -> None:
        """Takes one hold back."""
        self._holds[version] -= 1
        if self._holds[version] <= 0:
            del self._holds[version]
            self._forget_old()

    def _forget_old(self) -> None:
        for version in [v for v in self._pinned if v not in self._holds][:-PINNED_MAX]:
            del self._pinned[version]

    def _module(self, version: Version) -> nn.Module:
        self._pinned.move_to_end(version)
        return self._pinned[version]

    def _tensors(self, leaves: Sequence[NDArray[np.generic]]) -> list[Tensor]:
        return [torch.from_numpy(leaf).to(self._device) for leaf in leaves]


def _array(tensor: Tensor) -> NDArray[np.generic]:
    tensor = tensor.float() if tensor.is_floating_point() else tensor  # numpy has no bfloat16.
    array: NDArray[np.generic] = tensor.cpu().numpy()
    return array
