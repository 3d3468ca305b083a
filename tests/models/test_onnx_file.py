from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper

from app.errors import PluginError
from app.games.cartpole.model import build
from app.models.distributions.categorical import Categorical
from app.models.export.graph import export_graph
from app.models.export.precision import with_weights
from app.models.module import build_module, to_arrays
from app.models.onnx_engine import OnnxEngine
from app.models.onnx_file import load
from app.models.spec import ArraySpec
from app.models.torch_engine import TorchEngine

WEIGHT = np.array([[1, 2, 3, 10], [4, 5, 6, 20]], np.float32)
"""Three logits and a value for two numbers."""


def write(path: Path, nodes: list[Any], inputs: dict[str, Any], outputs: dict[str, Any], **weights: Any) -> str:
    def ports(shapes: dict[str, Any]) -> list[Any]:
        return [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]

    initializers = [numpy_helper.from_array(np.asarray(array), name) for name, array in weights.items()]
    graph = helper.make_graph(nodes, "g", ports(inputs), ports(outputs), initializers)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    return str(path)


def policy_file(path: Path, batch: Any = "N") -> str:
    nodes = [
        helper.make_node("MatMul", ["net/in:0", "weight"], ["all"]),
        helper.make_node("Split", ["all", "sizes"], ["net/logits:0", "net/value:0"], axis=1),
    ]
    outputs = {"net/logits:0": [batch, 3], "net/value:0": [batch, 1]}
    return write(path, nodes, {"net/in:0": [batch, 2]}, outputs, weight=WEIGHT, sizes=np.array([3, 1]))


POLICY = {"dist_inputs": "net/logits:0", "value": "net/value:0"}


@pytest.mark.parametrize("engine", [TorchEngine, lambda module: OnnxEngine(module, Path("/nonexistent"))])
def test_a_file_with_names_of_its_own_becomes_a_policy(tmp_path: Path, engine: Callable[[Any], Any]) -> None:
    path = policy_file(tmp_path / "model.onnx")
    module = build_module("app.models.onnx_file:load", {"path": path, "policy": POLICY}, seed=0)
    running = engine(module)
    assert (running.spec.observation, running.spec.action) == (ArraySpec((2,)), Categorical(3))
    answer = running.forward([np.array([[1, 0], [0, 1], [1, 1]], np.float32)])
    np.testing.assert_allclose(answer.outputs[0], [[1, 2, 3], [4, 5, 6], [5, 7, 9]])
    np.testing.assert_allclose(answer.outputs[1], [10, 20, 30])


def test_without_a_value_it_is_zero_and_without_a_policy_it_answers_with_its_outputs(tmp_path: Path) -> None:
    path = policy_file(tmp_path / "model.onnx")
    policy = load(path, policy={"dist_inputs": "net/logits:0"})
    out = policy(torch.ones(2, 2))
    assert out.value.tolist() == [0, 0]
    plain = load(path)
    assert plain.spec.outputs == {"net.logits:0": ArraySpec((3,)), "net.value:0": ArraySpec((1,))}
    assert plain(torch.ones(1, 2))["net.value:0"].tolist() == [[30.0]]


def test_a_state_comes_back_and_inputs_may_be_nested(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Add", ["h", "one"], ["h_out"]),
        helper.make_node("Add", ["left", "right"], ["both"]),
        helper.make_node("Concat", ["both", "h_out"], ["logits"], axis=1),
    ]
    inputs = {"left": ["N", 1], "right": ["N", 1], "h": ["N", 1]}
    path = write(tmp_path / "m.onnx", nodes, inputs, {"logits": ["N", 2], "h_out": ["N", 1]}, one=np.ones(1, "f4"))
    model = load(path, ("right", "left"), policy={"dist_inputs": "logits"}, state={"h": "h_out"})  # type: ignore[arg-type]
    assert model.spec.state == {"h": ArraySpec((1,))}
    out = model((torch.ones(3, 1), torch.zeros(3, 1)), {"h": torch.full((3, 1), 4.0)})
    assert out.state["h"].flatten().tolist() == [5, 5, 5]
    assert out.dist_inputs.tolist() == [[1, 5]] * 3


def test_a_frozen_batch_axis_is_refused_where_the_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(PluginError, match=r"net/in:0 with a batch axis of exactly 1; it must answer batches"):
        load(policy_file(tmp_path / "model.onnx", batch=1), policy=POLICY)


def test_a_frozen_batch_axis_is_refused_where_only_the_graph_knows(tmp_path: Path) -> None:
    nodes = [helper.make_node("Reshape", ["x", "shape"], ["y"])]
    path = write(tmp_path / "m.onnx", nodes, {"x": ["N", 2]}, {"y": ["M", 2]}, shape=np.array([1, 2]))
    with pytest.raises(PluginError, match=r"batch"):
        load(path)


def test_rows_that_depend_on_each_other_are_refused(tmp_path: Path) -> None:
    nodes = [helper.make_node("Softmax", ["x"], ["y"], axis=0)]
    path = write(tmp_path / "m.onnx", nodes, {"x": ["N", 2]}, {"y": ["N", 2]})
    with pytest.raises(PluginError, match="its rows are not independent"):
        load(path)


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"policy": {"dist_inputs": "wrong"}}, r"has no output 'wrong'; it has net/logits:0, net/value:0"),
        ({"observation": "wrong"}, r"has no input 'wrong'; it has net/in:0"),
        ({"policy": {"logits": "net/logits:0"}}, "allowed are dist_inputs, which it needs, and value"),
        ({"policy": {"dist_inputs": "net/logits:0", "value": "net/logits:0"}}, r"a value is \[B\] or \[B, 1\]"),
    ],
)
def test_a_wrong_mapping_is_named_with_what_there_is(tmp_path: Path, kwargs: dict[str, Any], message: str) -> None:
    with pytest.raises(PluginError, match=message):
        load(policy_file(tmp_path / "model.onnx"), **kwargs)


def test_what_is_no_onnx_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(b"nothing of use")
    with pytest.raises(PluginError, match="is no ONNX file that can be read"):
        load(str(tmp_path / "m.onnx"))
    with pytest.raises(PluginError, match="is no ONNX file that can be read"):
        load(str(tmp_path / "none.onnx"))


@pytest.mark.export
def test_what_the_exporter_wrote_can_be_brought_back(tmp_path: Path) -> None:
    module = build()
    (tmp_path / "m.onnx").write_bytes(with_weights(export_graph(module), to_arrays(module)).SerializeToString())
    again = load(str(tmp_path / "m.onnx"), policy={"dist_inputs": "dist_inputs", "value": "value"})
    asked = torch.randn(5, 4)
    torch.testing.assert_close(again(asked).dist_inputs, module(asked).dist_inputs.detach(), atol=1e-5, rtol=1e-4)
