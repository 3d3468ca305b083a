"""Writes a network as an ONNX graph whose batch axis is free and whose weights can be exchanged."""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import torch
from torch import Tensor, nn

from app.errors import ExportError
from app.models.export.shaken import shaken
from app.models.module import call, spec_of, to_arrays
from app.models.onnx_names import input_names, output_names
from app.models.spec import ArraySpec, ModelSpec
from app.types import Arrays

if TYPE_CHECKING:
    from onnx import ModelProto, TensorProto

EXAMPLE_ROWS: Final = 2
"""With one row torch would write a graph for batches of one, without saying so."""
WEIGHTS: Final = "module."
"""What the names of exchangeable weights begin with; the name in the state dict follows."""
OUTSIDE: Final = "weights"
"""The file that would hold the weights, if they were read from one."""
REASON_MAX: Final = 600
"""Characters of torch's own words in a message."""


@dataclass(frozen=True, slots=True)
class Graph:
    """An ONNX graph without the network's weights: a session is given them, as data from outside."""

    proto: bytes
    """A serialised ``ModelProto``."""
    weights: tuple[str, ...]
    """Names of the weights in the state dict; the graph has them behind ``module.``. None: all is in the graph."""


def export_graph(module: nn.Module) -> Graph:
    """Returns the graph of a network in evaluation mode; it is not optimised.

    Raises:
      ExportError: torch cannot follow the network, or it takes batches of one size alone.
    """
    module = shaken(module)  # Then no two weights are equal, and each is found in the graph by its numbers.
    spec = spec_of(module)
    example = tuple(_example(leaf) for leaf in (*spec.inputs.leaves, *spec.states.leaves))
    batch = torch.export.Dim("batch")
    try:
        with _quiet():
            program: Any = torch.onnx.export(
                _ByLeaves(module, spec),
                example,
                dynamo=True,
                optimize=False,  # Folded weights could not be exchanged; the runtime folds them in any case.
                input_names=input_names(spec),
                output_names=output_names(spec),
                dynamic_shapes={"leaves": tuple({0: batch} for _ in example)},
                verbose=False,
            )
    except Exception as error:  # The user's network runs in there, and torch has no common base.
        reason = str(error.__cause__ or error).strip()[:REASON_MAX]
        raise ExportError(
            f"{type(module).__name__} cannot be written as an ONNX graph with a free batch axis: {reason}"
        ) from error
    _check_free(program.model_proto, type(module).__name__)
    return as_graph(_without_weights(_stripped(program.model_proto), to_arrays(module)))


def as_graph(proto: "ModelProto") -> Graph:
    """Returns a graph with the names of the weights that it lacks."""
    outside = [x.name for x in proto.graph.initializer if x.data_location == x.EXTERNAL]
    return Graph(proto.SerializeToString(), tuple(name.removeprefix(WEIGHTS) for name in outside))


def _without_weights(proto: "ModelProto", arrays: Arrays) -> "ModelProto":
    """Takes the weights out; those that torch took for constants, as it does with Keras's, get their names back."""
    from onnx import numpy_helper  # noqa: PLC0415  # Where torch runs the network, nobody needs it.

    by_numbers = {(array.dtype.name, array.shape, array.tobytes()): name for name, array in arrays.items()}
    names: dict[str, str] = {}
    for weight in proto.graph.initializer:
        found = weight.name.removeprefix(WEIGHTS) if weight.name.startswith(WEIGHTS) else None
        if found not in arrays:
            array = numpy_helper.to_array(weight)
            found = (
                by_numbers.get((array.dtype.name, array.shape, array.tobytes())) if array.dtype.kind == "f" else None
            )
        if found is not None:
            names[weight.name] = f"{WEIGHTS}{found}"
            _take_out(weight, f"{WEIGHTS}{found}")
    for node in proto.graph.node:
        node.input[:] = [names.get(name, name) for name in node.input]
    return proto


def _take_out(weight: "TensorProto", name: str) -> None:
    size_bytes = len(weight.raw_data)
    weight.ClearField("raw_data")
    weight.name = name
    weight.data_location = weight.EXTERNAL
    for key, value in (("location", OUTSIDE), ("offset", "0"), ("length", str(size_bytes))):
        entry = weight.external_data.add()
        entry.key, entry.value = key, value


def _check_free(proto: "ModelProto", name: str) -> None:
    for port in (*proto.graph.input, *proto.graph.output):
        axes = port.type.tensor_type.shape.dim
        if not axes or not axes[0].dim_param:
            size = axes[0].dim_value if axes else "none"
            raise ExportError(
                f"the graph of {name} has {port.name} with a batch axis of exactly {size}; it must be free"
            )


class _ByLeaves(nn.Module):
    """A network that takes and gives flat leaves."""

    def __init__(self, module: nn.Module, spec: ModelSpec) -> None:
        super().__init__()
        self.module = module
        self._spec = spec

    def forward(self, *leaves: Tensor) -> tuple[Tensor, ...]:
        """Returns the leaves of the answer, and then those of the next state."""
        count = len(self._spec.inputs)
        outputs, states = call(self.module, self._spec, leaves[:count], leaves[count:])
        return (*outputs, *states)


def _example(leaf: ArraySpec) -> Tensor:
    return torch.zeros((EXAMPLE_ROWS, *leaf.shape), dtype=getattr(torch, leaf.dtype))


def _stripped(proto: "ModelProto") -> "ModelProto":
    """Takes out what the exporter noted for debugging, such as paths of the machine that it ran on."""
    del proto.metadata_props[:]
    del proto.graph.metadata_props[:]
    for node in proto.graph.node:
        del node.metadata_props[:]
        node.doc_string = ""
    for port in (*proto.graph.value_info, *proto.graph.input, *proto.graph.output):
        del port.metadata_props[:]
    for initializer in proto.graph.initializer:
        del initializer.metadata_props[:]
    return proto


@contextmanager
def _quiet() -> Iterator[None]:
    """Keeps torch from telling that torchvision is missing, and of its own deprecations."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
