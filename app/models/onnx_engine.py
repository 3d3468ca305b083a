"""Runs a network with ONNX Runtime."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from torch import nn

from app.models.engine import Answer, check_answer
from app.models.export.cache import cached_graph
from app.models.module import check_shapes, spec_of, to_arrays
from app.models.onnx_file import OnnxFile
from app.models.onnx_session import OnnxSession
from app.models.versioned_engine import VersionedEngine
from app.models.versions import Bound, Versions
from app.types import Arrays, Version


class OnnxEngine(VersionedEngine[OnnxSession]):
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
        spec = spec_of(module)
        self._name = type(module).__name__
        self._graph = module.graph if isinstance(module, OnnxFile) else cached_graph(module, graphs)
        first = to_arrays(module)
        self._shapes = {name: array.shape for name, array in first.items()}
        size_bytes = sum(array.nbytes for array in first.values())
        super().__init__(spec, Versions(OnnxSession(self._graph, spec, first), size_bytes, bound))

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
        session, answered_by = self._built(version)
        outputs, following = session.run(inputs, states)
        answer = Answer(outputs, following, answered_by)
        check_answer(answer, self.spec, len(inputs[0]))
        return answer

    def build(self, arrays: Arrays) -> OnnxSession:
        """Returns a session with these weights for ``swap`` or ``keep``; from any thread, since it takes milliseconds.

        Raises:
          ModelMismatchError: They do not fit the model.
        """
        check_shapes(self._name, self._shapes, arrays)
        return OnnxSession(self._graph, self.spec, arrays)
