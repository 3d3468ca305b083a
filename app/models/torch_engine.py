"""Runs a network with torch."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from app.models.engine import Answer, check_answer
from app.models.module import call, spec_of
from app.models.versioned_engine import VersionedEngine
from app.models.versions import Bound, Versions
from app.models.views import NetworkTemplate
from app.types import Arrays, Version


class TorchEngine(VersionedEngine[nn.Module]):
    """Answers batches with torch on one device; weights change only between two batches."""

    def __init__(self, module: nn.Module, device: str = "cpu", bound: Bound | None = None) -> None:
        module = module.to(device).eval()
        self._template = NetworkTemplate(module, device)
        super().__init__(spec_of(module), Versions(module, self._template.size_bytes, bound))
        self._device = device

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
        module, answered_by = self._built(version)
        with torch.inference_mode():
            outputs, following = call(module, self.spec, self._tensors(inputs), self._tensors(states))
        answer = Answer([_array(x) for x in outputs], [_array(x) for x in following], answered_by)
        check_answer(answer, self.spec, len(inputs[0]))
        return answer

    def build(self, arrays: Arrays) -> nn.Module:
        """Returns a network with these weights for ``swap`` or ``keep``; from any thread, since it may take a while.

        Raises:
          ModelMismatchError: They do not fit the model.
        """
        return self._template.build(arrays)

    def _tensors(self, leaves: Sequence[NDArray[np.generic]]) -> list[Tensor]:
        return [torch.from_numpy(leaf).to(self._device) for leaf in leaves]


def _array(tensor: Tensor) -> NDArray[np.generic]:
    if tensor.dtype is not torch.float32 and tensor.is_floating_point():
        tensor = tensor.float()  # numpy has no bfloat16.
    array: NDArray[np.generic] = tensor.numpy(force=True)  # Also what is on a device, and a parameter's view.
    return array
