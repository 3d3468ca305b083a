"""A file as tf2onnx writes it: channels last, a batch axis named ``unk__N``, and a port in each name."""

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from torch.nn import functional

from app.models.distributions.categorical import Categorical
from app.models.module import build_module
from app.models.onnx_engine import OnnxEngine
from app.models.spec import ArraySpec
from app.models.torch_engine import TorchEngine

VECTORS = Path(__file__).parents[1] / "vectors" / "tf2onnx.json"
IMAGE = "serving_default_image:0"
SPEED = "serving_default_speed:0"
LOGITS, VALUE = "StatefulPartitionedCall:0", "StatefulPartitionedCall:1"
SIDE, CHANNELS, FILTERS, ACTIONS = 4, 3, 2, 5
CONV = "StatefulPartitionedCall/pilot/conv2d/Conv2D"
DENSE = "StatefulPartitionedCall/pilot/dense/MatMul"


def weights() -> dict[str, NDArray[np.float32]]:
    source = np.random.default_rng(3)
    shapes = {
        f"{CONV}/ReadVariableOp:0": (FILTERS, CHANNELS, 3, 3),
        f"{DENSE}/ReadVariableOp:0": (SIDE * SIDE * FILTERS + 1, ACTIONS + 1),
        f"{DENSE}/BiasAdd/ReadVariableOp:0": (ACTIONS + 1,),
    }
    return {name: source.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}


def tensorflow_file(path: Path) -> str:
    """Writes what ``python -m tf2onnx.convert --saved-model`` makes of a small Keras network."""
    kernel, dense, bias = weights()
    constants: dict[str, NDArray[Any]] = {
        **weights(),
        "const_fold_opt__31": np.array([-1, SIDE * SIDE * FILTERS]),
        "split__33": np.array([ACTIONS, 1]),
    }
    nodes = [
        helper.make_node("Transpose", [IMAGE], [f"{CONV}__6:0"], perm=[0, 3, 1, 2]),
        helper.make_node("Conv", [f"{CONV}__6:0", kernel], [f"{CONV}:0"], pads=[1] * 4, kernel_shape=[3, 3]),
        helper.make_node("Relu", [f"{CONV}:0"], ["StatefulPartitionedCall/pilot/conv2d/Relu:0"]),
        helper.make_node(
            "Transpose", ["StatefulPartitionedCall/pilot/conv2d/Relu:0"], ["relu__12:0"], perm=[0, 2, 3, 1]
        ),
        helper.make_node("Reshape", ["relu__12:0", "const_fold_opt__31"], ["StatefulPartitionedCall/pilot/flatten:0"]),
        helper.make_node("Concat", ["StatefulPartitionedCall/pilot/flatten:0", SPEED], ["concat:0"], axis=-1),
        helper.make_node("MatMul", ["concat:0", dense], [f"{DENSE}:0"]),
        helper.make_node("Add", [f"{DENSE}:0", bias], [f"{DENSE}/BiasAdd:0"]),
        helper.make_node("Split", [f"{DENSE}/BiasAdd:0", "split__33"], [LOGITS, VALUE], axis=-1),
    ]

    def ports(shapes: dict[str, list[Any]]) -> list[Any]:
        return [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]

    inputs = ports({IMAGE: ["unk__7", SIDE, SIDE, CHANNELS], SPEED: ["unk__8", 1]})
    outputs = ports({LOGITS: ["unk__9", ACTIONS], VALUE: ["unk__10", 1]})
    initializers = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "tf2onnx", inputs, outputs, initializers)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8, producer_name="tf2onnx"), path)
    return str(path)


def by_torch(image: NDArray[np.float32], speed: NDArray[np.float32]) -> NDArray[np.float32]:
    """Returns logits and value of the same network, [B, actions + 1]."""
    kernel, dense, bias = (torch.from_numpy(array) for array in weights().values())
    seen = functional.conv2d(torch.from_numpy(image).permute(0, 3, 1, 2), kernel, padding=1).relu()
    flat = torch.cat([seen.permute(0, 2, 3, 1).flatten(1), torch.from_numpy(speed)], dim=1)
    found: NDArray[np.float32] = (flat @ dense + bias).numpy()
    return found


@pytest.mark.parametrize("engine", [TorchEngine, lambda module: OnnxEngine(module, Path("/nonexistent"))])
@pytest.mark.parametrize("rows", [1, 9])
def test_a_model_of_tensorflow_serves_with_both_engines(
    tmp_path: Path, engine: Callable[[Any], TorchEngine | OnnxEngine], rows: int
) -> None:
    kwargs = {
        "path": tensorflow_file(tmp_path / "pilot.onnx"),
        "policy": {"dist_inputs": LOGITS, "value": VALUE},
        "observation": {"image": IMAGE, "speed": SPEED},
    }
    running = engine(build_module("app.models.onnx_file:load", kwargs, seed=0))
    assert running.spec.observation == {"image": ArraySpec((SIDE, SIDE, CHANNELS)), "speed": ArraySpec((1,))}
    assert running.spec.action == Categorical(ACTIONS)
    source = np.random.default_rng(rows)
    image = source.random((rows, SIDE, SIDE, CHANNELS)).astype(np.float32)
    speed = source.random((rows, 1)).astype(np.float32)
    logits, value = running.forward([image, speed]).outputs
    np.testing.assert_allclose(np.column_stack([logits, value]), by_torch(image, speed), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("engine", [TorchEngine, lambda module: OnnxEngine(module, Path("/nonexistent"))])
def test_a_file_that_tf2onnx_has_written_answers_as_keras_does(
    tmp_path: Path, engine: Callable[[Any], TorchEngine | OnnxEngine]
) -> None:
    known = json.loads(VECTORS.read_text())
    (tmp_path / "pilot.onnx").write_bytes(base64.b64decode(known["onnx_base64"]))
    kwargs = {"path": str(tmp_path / "pilot.onnx"), "policy": {"dist_inputs": "output_0", "value": "output_1"}}
    running = engine(build_module("app.models.onnx_file:load", kwargs, seed=0))
    assert running.spec.inputs.paths == ("image", "speed")
    image = np.array(known["image"], np.float32).reshape(-1, SIDE, SIDE, CHANNELS)
    speed = np.array(known["speed"], np.float32).reshape(-1, 1)
    logits, value = running.forward([image, speed]).outputs
    np.testing.assert_allclose(logits.ravel(), known["logits"], atol=1e-5)
    np.testing.assert_allclose(value, known["value"], atol=1e-5)


def test_names_with_ports_become_keys_where_nothing_else_is_said(tmp_path: Path) -> None:
    module = build_module("app.models.onnx_file:load", {"path": tensorflow_file(tmp_path / "pilot.onnx")}, seed=0)
    spec = TorchEngine(module).spec
    assert list(spec.inputs.paths) == [IMAGE, SPEED]
    assert list(spec.answers.paths) == [LOGITS, VALUE]
