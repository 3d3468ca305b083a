"""One ONNX Runtime session: a graph with one version of weights."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from app.errors import ExportError
from app.models.export.graph import WEIGHTS, Graph
from app.models.onnx_names import input_names, output_names
from app.models.question import Leaves
from app.models.spec import ModelSpec
from app.types import Arrays

ERRORS_ONLY: Final = 3
"""Of ONNX Runtime's log levels: it warns of what its optimiser leaves alone."""


class OnnxSession:
    """Answers batches by one version of weights, in the thread that asks."""

    def __init__(
        self, graph: Graph, spec: ModelSpec, arrays: Arrays | None = None, provider: str = "CPUExecutionProvider"
    ) -> None:
        """Makes a session; it takes milliseconds, and may be made in any thread.

        Args:
          graph: The network.
          spec: Its shapes.
          arrays: Its weights; None where all is in the graph.
          provider: ONNX Runtime's name of what computes.

        Raises:
          ExportError: ONNX Runtime does not take the graph.
        """
        self._inputs = input_names(spec)
        self._outputs = list(output_names(spec))
        self._answers = len(spec.answers)
        options = _options()
        if graph.weights and arrays is None:
            raise ExportError("the graph has no weights of its own, and none were given")
        if arrays is not None and graph.weights:  # ONNX Runtime copies them, and folds and packs what it can.
            values = [onnxruntime.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(arrays[n])) for n in graph.weights]
            options.add_external_initializers([f"{WEIGHTS}{name}" for name in graph.weights], values)
        try:
            self._session = onnxruntime.InferenceSession(graph.proto, options, providers=[provider])
        except Exception as error:  # The binding raises classes of its own without a common base.
            raise ExportError(f"ONNX Runtime {onnxruntime.__version__} does not take the graph: {error}") from error

    def run(
        self, inputs: Sequence[NDArray[np.generic]], states: Sequence[NDArray[np.generic]]
    ) -> tuple[Leaves, Leaves]:
        """Returns the leaves of the answer and of the next state, each [B, …]."""
        feed = dict(zip(self._inputs, (*inputs, *states), strict=True))
        found = self._session.run(self._outputs, feed)
        return found[: self._answers], found[self._answers :]


def _options() -> onnxruntime.SessionOptions:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # Replicas share the machine; a batch of one is slower with several.
    options.inter_op_num_threads = 1
    options.log_severity_level = ERRORS_ONLY
    return options
