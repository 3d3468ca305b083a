"""Runs a network with ONNX Runtime."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from torch import nn

from app.errors import ModelMismatchError
from app.models.engine import Answer, check_answer
from app.models.export.cache import cached_graph
from app.models.module import spec_of, to_arrays
from app.models.onnx_file import OnnxFile
from app.models.onnx_session import OnnxSession
from app.models.versions import Bound, Versions
from app.types import Arrays, Version


class OnnxEngine:
    """Answers batches with ONNX Runtime on one thread; weights change only between two batches.

    The graph is written once for an architecture. Each version of weights is a session of its own, in which they are
    constants: ONNX Runtime folds and packs them, which answers several times faster than weights as inputs.
    """

    def __init__(self, module: nn.Module, graphs: Path, bound: Bound | None = None) -> None:
        """Writes the network's graph, or takes it from a folder, and compares it with the network.

        Args:
          module: The network with its first weights.
          graphs: Folder of graphs; created when missing.
          bound: How many versions are kept beside the newest; None keeps the default.

        Raises:
          ExportError: The network cannot be written as a graph, or its graph answers otherwise.
        """
        self.spec = spec_of(module)
        self._name = type(module).__name__
        self._graph = module.graph if isinstance(module, OnnxFile) else cached_graph(module, graphs)
        first = to_arrays(module)
        self._shapes = {name: array.shape for name, array in first.items()}
        size_bytes = sum(array.nbytes for array in first.values())
        self._versions = Versions(self.build(first), size_bytes, bound)

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
        """Returns the answer to a batch, by the newest weights or by those kept as ``version``.

        Raises:
          KeyError: That version is not kept.
          ValueError: The answer has other shapes than the spec.
        """
        session = self._versions.newest if version is None else self._versions.get(version)
        outputs, following = session.run(inputs, states)
        answer = Answer(outputs, following, self.version if version is None else version)
        check_answer(answer, self.spec, len(inputs[0]))
        return answer

    def build(self, arrays: Arrays) -> OnnxSession:
        """Returns a session with these weights for ``swap`` or ``keep``; from any thread, since it takes milliseconds.

        Raises:
          ModelMismatchError: They do not fit the model.
        """
        given = {name: array.shape for name, array in arrays.items()}
        if given != self._shapes:
            wrong = sorted(n for n in self._shapes | given if given.get(n) != self._shapes.get(n))
            raise ModelMismatchError(f"these weights do not fit the model {self._name}: {', '.join(wrong)}")
        return OnnxSession(self._graph, self.spec, arrays)

    def swap(self, version: Version, built: OnnxSession) -> None:
        """Makes a built session the newest."""
        self._versions.swap(version, built)

    def keep(self, version: Version, built: OnnxSession | None = None) -> None:
        """Keeps a built session beside the newest; None keeps the newest itself.

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
