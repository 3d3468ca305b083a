"""Reads an ONNX file's inputs and outputs, and gives them our names."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from app.errors import PluginError
from app.models.onnx_names import input_names, output_names
from app.models.spec import ModelSpec

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto, ValueInfoProto

OPSET: Final = 13
"""Oldest whose Squeeze and Shape are used as they are here."""

FREE_AXIS: Final = (
    "it must answer batches of any size: export it again with the batch axis free, from torch with an example of two "
    "rows and dynamic_shapes, with tf2onnx from a signature whose first size is None"
)
"""What to do about a file that takes batches of one size."""


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output of a file."""

    name: str
    shape: tuple[int, ...]
    """Without the batch axis."""
    dtype: str


@dataclass(frozen=True, slots=True)
class FileGraph:
    """A file's graph, and what goes in and out."""

    path: Path
    proto: "ModelProto"
    inputs: Mapping[str, Port]
    outputs: Mapping[str, Port]

    def input(self, name: str) -> Port:
        """Returns an input.

        Raises:
          PluginError: There is none of that name.
        """
        return self._port("input", self.inputs, name)

    def output(self, name: str) -> Port:
        """Returns an output.

        Raises:
          PluginError: There is none of that name.
        """
        return self._port("output", self.outputs, name)

    def _port(self, kind: str, ports: Mapping[str, Port], name: str) -> Port:
        if name not in ports:
            raise PluginError(f"{self.path} has no {kind} {name!r}; it has {', '.join(ports)}")
        return ports[name]


def read_file(path: Path, shapes: Mapping[str, Sequence[int]]) -> FileGraph:
    """Returns the graph of a file.

    Args:
      path: The file.
      shapes: Sizes behind the batch axis of inputs and outputs that the file leaves open.

    Raises:
      PluginError: It cannot be read, its batch axis has a fixed size, or another axis has none.
    """
    import onnx  # noqa: PLC0415

    try:
        proto = onnx.load(path)
        onnx.checker.check_model(proto)
        proto = onnx.shape_inference.infer_shapes(proto)
    except Exception as error:  # What protobuf raises is no part of its interface.
        raise PluginError(f"{path} is no ONNX file that can be read: {error}") from error
    versions = [opset.version for opset in proto.opset_import if opset.domain in {"", "ai.onnx"}]
    if not versions or versions[0] < OPSET:
        raise PluginError(f"{path} is of opset {versions}; allowed is {OPSET} or later")
    weights = {x.name for x in proto.graph.initializer}  # Old files list their weights among the inputs.
    inputs = [_port(path, x, shapes) for x in proto.graph.input if x.name not in weights]
    outputs = [_port(path, x, shapes) for x in proto.graph.output]
    return FileGraph(path, proto, {x.name: x for x in inputs}, {x.name: x for x in outputs})


def with_our_names(file: FileGraph, spec: ModelSpec, inputs: Sequence[Port], outputs: Sequence[Port | None]) -> bytes:
    """Returns the file's graph with our names of inputs and outputs.

    Args:
      file: The file.
      spec: What it is as a model.
      inputs: What stands for each leaf of the observation and the state.
      outputs: What stands for each leaf of the answer and the next state; None is a value of 0.

    Raises:
      PluginError: An input is left without a value.
    """
    from onnx import ModelProto  # noqa: PLC0415

    unused = set(file.inputs) - {port.name for port in inputs}
    if unused:
        raise PluginError(f"{file.path} needs {', '.join(sorted(unused))} as well; name all inputs")
    proto = ModelProto()
    proto.CopyFrom(file.proto)
    graph = proto.graph
    before: list[NodeProto] = []
    for ours, port in zip(input_names(spec), inputs, strict=True):
        before += _renamed_input(proto, ours, port)
    del graph.output[:]
    after: list[NodeProto] = []
    for ours, taken in zip(output_names(spec), outputs, strict=True):
        after += _added_output(proto, ours, taken, input_names(spec)[0])
    nodes = [*before, *graph.node, *after]
    del graph.node[:]
    graph.node.extend(nodes)
    return bytes(proto.SerializeToString())


def _port(path: Path, info: "ValueInfoProto", shapes: Mapping[str, Sequence[int]]) -> Port:
    from onnx import helper  # noqa: PLC0415

    tensor = info.type.tensor_type
    if not tensor.elem_type:
        raise PluginError(f"{path} has {info.name}, which is no tensor")
    dtype = np.dtype(helper.tensor_dtype_to_np_dtype(tensor.elem_type)).name
    axes = [axis.dim_value if axis.HasField("dim_value") else None for axis in tensor.shape.dim]
    if not tensor.HasField("shape") or not axes:
        if info.name not in shapes:
            raise PluginError(f"{path} says no shape of {info.name}; give it under shapes, without the batch axis")
        axes = [None, *shapes[info.name]]
    if axes[0] is not None:
        raise PluginError(f"{path} has {info.name} with a batch axis of exactly {axes[0]}; {FREE_AXIS}")
    rest = tuple(shapes[info.name]) if info.name in shapes else tuple(axes[1:])
    if any(size is None for size in rest):
        raise PluginError(f"{path} leaves axes of {info.name} open: {rest}; give them under shapes")
    return Port(info.name, tuple(int(size or 0) for size in rest), dtype)


def _renamed_input(proto: "ModelProto", ours: str, port: Port) -> "list[NodeProto]":
    from onnx import helper  # noqa: PLC0415

    if ours == port.name:
        return []
    place = next(at for at, x in enumerate(proto.graph.input) if x.name == port.name)
    proto.graph.input[place].name = ours
    return [helper.make_node("Identity", [ours], [port.name], name=f"take {port.name}")]


def _added_output(proto: "ModelProto", ours: str, port: Port | None, observation: str) -> "list[NodeProto]":
    from onnx import TensorProto, helper, numpy_helper  # noqa: PLC0415

    if port is None:
        proto.graph.output.append(helper.make_tensor_value_info(ours, TensorProto.FLOAT, ["batch"]))
        first = numpy_helper.from_array(np.array([0], np.int64), f"{ours} first axis")
        proto.graph.initializer.append(first)
        return [
            helper.make_node("Shape", [observation], [f"{ours} sizes"]),
            helper.make_node("Gather", [f"{ours} sizes", first.name], [f"{ours} rows"]),
            helper.make_node("ConstantOfShape", [f"{ours} rows"], [ours]),
        ]
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(port.dtype))
    squeezed = ours == "value" and port.shape == (1,)
    proto.graph.output.append(helper.make_tensor_value_info(ours, kind, ["batch", *(() if squeezed else port.shape)]))
    if squeezed:
        axis = numpy_helper.from_array(np.array([1], np.int64), f"{ours} last axis")
        proto.graph.initializer.append(axis)
        return [helper.make_node("Squeeze", [port.name, axis.name], [ours])]
    return [] if ours == port.name else [helper.make_node("Identity", [port.name], [ours], name=f"give {ours}")]
