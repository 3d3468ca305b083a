from pathlib import Path

import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from torch import Tensor

from app.config.charts import ChartsConfig
from app.models.module import build_module, spec_of
from app.types import RowKind
from train.charts import Charts, open_charts

PICTURES = {
    "observation": {"shape": [8, 8, 1], "dtype": "uint8"},
    "action": {"choices": 3},
    "encoder": {"kind": "mlp", "hidden": [4]},
}


def batch() -> dict[str, Tensor]:
    """Returns a trajectory of five rows and its bootstrap row."""
    kind = torch.tensor([0, 0, 0, 0, 0, int(RowKind.FULL)])
    screens = torch.arange(6, dtype=torch.uint8)[:, None, None, None].expand(6, 8, 8, 1) * 10
    return {"kind": kind, "observation": screens, "action": torch.tensor([0, 1, 2, 2, 2, 0])}


def shown(folder: Path, *kinds: str) -> EventAccumulator:
    """Returns what TensorBoard reads after 20 updates, of which each tenth is shown."""
    module = build_module("app.models.networks.policy:build", PICTURES, 0)
    for one in module.parameters():
        one.grad = torch.full_like(one, 2.0)
    charts = Charts(ChartsConfig(kinds=kinds, every_updates=10, video_rows=3), folder, module, spec_of(module))
    for updates in range(1, 21):
        charts.show(updates, batch())
    charts.close()
    found = EventAccumulator(str(folder), {"histograms": 0})
    found.Reload()
    return found


def test_weights_gradients_and_played_actions_are_shown_as_often_as_asked(tmp_path: Path) -> None:
    found = shown(tmp_path, "weights", "gradients", "actions")
    tags = found.Tags()["histograms"]
    assert {tag.partition("/")[0] for tag in tags} == {"weights", "gradients", "actions"}
    assert [event.step for event in found.Histograms("actions/action")] == [10, 20]
    actions = found.Histograms("actions/action")[0].histogram_value
    assert (actions.num, actions.sum) == (5, 7)  # The bootstrap row has no action.
    gradient = next(tag for tag in tags if tag.startswith("gradients/"))
    assert found.Histograms(gradient)[0].histogram_value.min == 2.0
    assert found.Tags()["images"] == []


def test_observations_that_are_images_are_shown_still_and_moving(tmp_path: Path) -> None:
    found = shown(tmp_path, "images", "video")
    assert sorted(found.Tags()["images"]) == ["images/observation", "video/observation"]
    assert found.Tags()["histograms"] == []


@pytest.mark.export
def test_the_graph_is_written_once(tmp_path: Path) -> None:
    graph = shown(tmp_path, "graph").Graph()
    names = {node.name for node in graph.node}
    assert all(one in names for node in graph.node for one in node.input)
    assert any(node.op == "aten.linear.default" for node in graph.node)


def test_nothing_is_opened_where_nothing_is_asked_for_and_a_bad_folder_stops_nobody(tmp_path: Path) -> None:
    module = build_module("app.models.networks.policy:build", PICTURES, 0)
    assert open_charts(ChartsConfig(), tmp_path, "main", module, spec_of(module)) is None
    (tmp_path / "tensorboard").write_text("a file where the folder should be")
    assert open_charts(ChartsConfig(kinds=("weights",)), tmp_path, "main", module, spec_of(module)) is None
