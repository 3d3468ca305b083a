import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from torch import nn

from app.errors import ExportError, ReleaseRefusedError
from app.models.export.compare import check_graph
from app.models.export.graph import Graph, export_graph
from app.models.export.precision import PRECISIONS, Precision, released
from app.models.export.release import Release, write_release
from app.models.export.report import Report, refuse_if_below, verify
from app.models.export.samples import Samples, random_samples
from app.models.module import build_module, spec_of, to_arrays
from app.models.onnx_session import OnnxSession
from tests.models.export.networks import NestedPolicy, seeded

pytestmark = pytest.mark.export


@dataclass(frozen=True)
class Exported:
    """A network and its graph, written once for all tests."""

    module: nn.Module
    graph: Graph
    asked: Samples

    def release(self, precision: Precision) -> bytes:
        recorded = replace(self.asked, recorded=True)
        return released(self.graph, to_arrays(self.module), spec_of(self.module), precision, recorded)

    def report(self, proto: bytes, precision: Precision, gate: float = 0.99) -> Report:
        return verify(self.module, proto, self.asked, precision, "1.2", gate, "game.main")


def exported(module: nn.Module) -> Exported:
    return Exported(module, export_graph(module), random_samples(spec_of(module), 300, 5))


@pytest.fixture(scope="module")
def nested() -> Exported:
    return exported(seeded(NestedPolicy))


@pytest.fixture(scope="module")
def cartpole() -> Exported:
    return exported(build_module("app.games.cartpole.model:build", {}, seed=3))


@pytest.fixture(scope="module")
def arena() -> Exported:
    return exported(build_module("app.games.arena.model:build", {}, seed=3))


@pytest.fixture(params=["cartpole", "arena"])
def game(request: pytest.FixtureRequest) -> Exported:
    found: Exported = request.getfixturevalue(request.param)
    return found


def test_every_shipped_game_plays_the_same_when_it_is_exported(game: Exported) -> None:
    check_graph(game.module, game.graph)
    report = game.report(game.release("fp32"), "fp32", gate=1.0)
    refuse_if_below(report)
    assert (report.agreement, report.rows, report.observations) == (1.0, 300, "random")
    assert report.max_abs_error < 1e-4


def test_a_release_holds_the_weights_of_its_version_and_not_those_of_the_graph(nested: Exported) -> None:
    other = seeded(NestedPolicy, 9)
    proto = released(nested.graph, to_arrays(other), spec_of(other), "fp32", None)
    assert verify(other, proto, nested.asked, "fp32", "1.3", 1.0, "game.main").passed
    assert not nested.report(proto, "fp32").passed


@pytest.mark.parametrize("precision", PRECISIONS)
def test_inputs_and_outputs_keep_names_dtypes_and_a_free_batch_axis(nested: Exported, precision: Precision) -> None:
    proto = onnx.load_model_from_string(nested.release(precision))
    ports = {
        port.name: (port.type.tensor_type.elem_type, len(port.type.tensor_type.shape.dim))
        for port in (*proto.graph.input, *proto.graph.output)
    }
    kind = onnx.TensorProto
    assert ports == {
        "observation/board": (kind.FLOAT, 3),
        "observation/units/0": (kind.INT64, 2),
        "observation/units/1": (kind.BOOL, 2),
        "state/hidden": (kind.FLOAT, 2),
        "state/ticks": (kind.FLOAT, 1),
        "dist_inputs/move": (kind.FLOAT, 2),
        "dist_inputs/skill": (kind.FLOAT, 2),
        "value": (kind.FLOAT, 1),
        "next_state/hidden": (kind.FLOAT, 2),
        "next_state/ticks": (kind.FLOAT, 1),
    }
    assert all(port.type.tensor_type.shape.dim[0].dim_param for port in proto.graph.input)


def test_a_release_tells_nothing_of_the_machine_that_it_was_made_on(nested: Exported) -> None:
    assert b".py" not in nested.release("fp32")


def test_smaller_numbers_make_a_smaller_file_and_a_larger_error(game: Exported) -> None:
    reports = {precision: game.report(game.release(precision), precision, gate=0.0) for precision in PRECISIONS}
    assert reports["int8-dynamic"].bytes < reports["fp16"].bytes < reports["fp32"].bytes
    assert reports["fp32"].max_abs_error < reports["fp16"].max_abs_error < reports["int8"].max_abs_error
    assert reports["fp16"].agreement > 0.99


def test_eight_bits_with_ranges_of_the_batch_make_rows_depend_on_each_other_and_the_report_says_so(
    arena: Exported,
) -> None:
    found = {kind: arena.report(arena.release(kind), kind, gate=0.0).row_error for kind in ("int8", "int8-dynamic")}
    assert found["int8-dynamic"] > 1e-3
    assert found["int8"] < 1e-6


def test_a_release_below_the_gate_is_refused_with_the_number(arena: Exported) -> None:
    report = arena.report(arena.release("int8"), "int8")
    assert report.agreement < 0.99
    with pytest.raises(ReleaseRefusedError, match=rf"on {report.agreement:.2%} of 300 random .* gate is 99\.00%"):
        refuse_if_below(report)
    refuse_if_below(replace(report, gate=report.agreement))


def test_only_allowed_actions_count_as_agreement(nested: Exported) -> None:
    module = nested.module
    other = seeded(NestedPolicy, 1)
    proto = released(nested.graph, to_arrays(other), spec_of(other), "fp32", None)
    asked = random_samples(spec_of(module), 50, 1)
    only = [np.tile([False, True, False], (50, 1)), np.tile([True, False], (50, 1))]
    free = verify(module, proto, asked, "fp16", "1.1", 0.0, "game.main")
    bound = verify(module, proto, replace(asked, masks=only), "fp16", "1.1", 0.0, "game.main")
    assert free.agreement < 1.0
    assert bound.agreement == 1.0


def test_eight_bits_need_recorded_observations(nested: Exported) -> None:
    with pytest.raises(ExportError, match="--calibration FILE"):
        released(nested.graph, to_arrays(nested.module), spec_of(nested.module), "int8", None)


def test_a_folder_describes_the_model_and_its_samples(nested: Exported, tmp_path: Path) -> None:
    proto = nested.release("fp32")
    write_release(tmp_path / "out", Release(proto, spec_of(nested.module), nested.report(proto, "fp32"), nested.asked))
    spec = json.loads((tmp_path / "out" / "spec.json").read_text())
    assert [port["name"] for port in spec["inputs"]][:2] == ["observation/board", "observation/units/0"]
    assert spec["inputs"][2] == {
        "name": "observation/units/1", "shape": ["batch", 3], "dtype": "bool", "low": 0, "high": 1,
        "kind": "observation",
    }  # fmt: skip
    assert [action["choices"] for action in spec["actions"]] == [3, 2]
    assert spec["state"] == {"next_state/hidden": "state/hidden", "next_state/ticks": "state/ticks"}
    samples = tmp_path / "out" / "samples"
    listed = json.loads((samples / "samples.json").read_text())
    assert listed["rows"] == 5
    given = [
        np.fromfile(samples / x["file"], x["dtype"]).reshape(x["shape"])
        for x in (*listed["inputs"], *listed["outputs"])
    ]
    outputs, states = OnnxSession(Graph(proto, ()), spec_of(nested.module)).run(given[:3], given[3:5])
    for wanted, got in zip(given[5:], (*outputs, *states), strict=True):
        np.testing.assert_array_equal(wanted, got)


def test_a_release_is_replaced_whole_and_other_files_are_not_touched(nested: Exported, tmp_path: Path) -> None:
    proto = nested.release("fp32")
    release = Release(proto, spec_of(nested.module), nested.report(proto, "fp32"), nested.asked)
    write_release(tmp_path / "out", release)
    (tmp_path / "out" / "old").write_text("")
    write_release(tmp_path / "out", release)
    assert not (tmp_path / "out" / "old").exists()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "work.txt").write_text("kept")
    with pytest.raises(ExportError, match="holds files that are no release"):
        write_release(tmp_path / "mine", release)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine", "out"]
