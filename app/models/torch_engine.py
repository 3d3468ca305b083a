"""Runs a network with torch."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from app.models.engine import Answer, check_answer
from app.models.module import call, spec_of
from app.models.versions import Bound, Versions
from app.models.views import NetworkTemplate
from app.types import Arrays, Version


class TorchEngine:
    """Answers batches with torch on one device; weights change only between two batches."""

    def __init__(self, module: nn.Module, device: str = "cpu", bound: Bound | None = None) -> None:
        module = module.to(device).eval()
        self._template = NetworkTemplate(module, device)
        self._versions = Versions(module, self._template.size_bytes, bound)
        self._device = device
        self.spec = spec_of(module)

    @property
    def version(self) -> Version:
        """Version of the newest weights."""
        return self._versions.version

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
        module = self._versions.newest if version is None else self._versions.get(version)
        with torch.inference_mode():
            outputs, following = call(module, self.spec, self._tensors(inputs), self._tensors(states))
        answered_by = self.version if version is None else version
        answer = Answer([_array(x) for x in outputs], [_array(x) for x in following], answered_by)
        check_answer(answer, self.spec, len(inputs[0]))
        return answer

    def build(self, arrays: Arrays) -> nn.Module:
        """Returns a network with these weights for ``swap`` or ``keep``; from any thread, since it may take a while.

        Raises:
          ModelMismatchError: They do not fit the model.
        """
        return self._template.build(arrays)

    def swap(self, version: Version, built: nn.Module) -> None:
        """Makes a built network the newest."""
        self._versions.swap(version, built)

    def keep(self, version: Version, built: nn.Module | None = None) -> None:
        """Keeps a built network beside the newest; None keeps the newest itself.

        Raises:
          OverloadedError: All versions that may be kept are held.
        """
        self._versions.keep(version, self._versions.newest if built is None else built)

    def load(self, version: Version, arrays: Arrays) -> None:
        """Makes these the newest weights, at once.

        Raises:
          ModelMismatchError: They do not fit the model.
        """
        self.swap(version, self.build(arrays))

    def pin(self, version: Version, arrays: Arrays | None = None) -> None:
        """Keeps a version beside the newest, at once; without arrays, the newest weights.

        Raises:
          ModelMismatchError: The weights do not fit the model.
          OverloadedError: All versions that may be kept are held.
        """
        self.keep(version, None if arrays is None else self.build(arrays))

    def has(self, version: Version) -> bool:
        """Returns whether a version is kept."""
        return self._versions.has(version)

    def hold(self, version: Version) -> None:
        """Keeps a version, however many follow, until it is released as often as it was held."""
        self._versions.hold(version)

    def release(self, version: Version) -> None:
        """Takes one hold back."""
        self._versions.release(version)

    def newest_in_play(self) -> Version | None:
        """Returns the newest held version where no other can be kept; None where there is room."""
        return self._versions.newest_in_play()

    def keep_for_good(self) -> None:
        """Keeps the newest weights for ever: no store has them."""
        self._versions.keep_for_good()

    def _tensors(self, leaves: Sequence[NDArray[np.generic]]) -> list[Tensor]:
        return [torch.from_numpy(leaf).to(self._device) for leaf in leaves]


def _array(tensor: Tensor) -> NDArray[np.generic]:
    tensor = tensor.float() if tensor.is_floating_point() else tensor  # numpy has no bfloat16.
    array: NDArray[np.generic] = tensor.detach().cpu().numpy()  # A parameter's view is no inference tensor.
    return array
